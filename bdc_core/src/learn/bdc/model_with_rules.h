#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "bdc/base/parallel.h"
#include "bdc/learn/bdc/bdc_model.h"
#include "bdc/learn/bdc/expected_confusion.h"

namespace bdc {

/// The steps of BDC with the formulas of one profile. Rules gives, as static functions:
///   log_prior(scores, J, p, log_p) -> offset   p_j, and ln p_j = log_p[j] - offset, of one prediction
///   match(problem, previous, cost, workspace)  workspace.match
///   error(annotation, prediction)              error of a match, 4 values
///   corrected(annotation, prediction, mean)    the annotated box without the annotator's bias
///   weight(matched, drawers, people)           weight of a target; people: annotators, or those who looked
///   finish(box)                                last touch of an aggregated box
///   keeps_posterior_without_matches            an annotator with no match keeps the last posterior, else the prior
///   exact_bound                                the bound is the evidence lower bound, else the reference's figure
/// Base is BdcModel or a class derived from it.
template <class Rules, class Base>
class ModelWithRules : public Base {
 public:
  ModelWithRules(const CrowdData& crowd, const BdcParameters& parameters, const AnnotatorPosteriors* prior,
                 Span<const std::int32_t> max_objects)
      : Base(crowd, parameters, prior, max_objects) {}

  using typename BdcModel::Workspace;

  void aggregate_image(std::size_t image, const ImagePredictions& predictions, Workspace& ws) override {
    const std::size_t first = this->crowd_.annotation_begin[image], J = this->num_classes_;
    const std::size_t A = this->crowd_.annotation_begin[image + 1] - first, N = predictions.box.size();
    load_annotations(image, ws);
    load_predictions(image, predictions, ws);
    ws.match.resize(A);
    const MatchProblem problem{ws.annotations, ws.labels, ws.predictions, ws.probs.data(), J};
    Rules::match(problem, {this->previous_.data() + first, A}, this->parameters_.match, ws);

    // Objects: predictions with a match, in the order of predictions.
    ws.row_of_prediction.assign(N, 0);
    for (const std::int32_t n : ws.match) {
      if (n >= 0) ++ws.row_of_prediction[static_cast<std::size_t>(n)];
    }
    const std::size_t row_begin = this->row_begin_[image], room = this->row_begin_[image + 1] - row_begin;
    std::size_t rows = 0;
    for (std::size_t n = 0; n < N; ++n) {
      const std::int32_t matched = ws.row_of_prediction[n];
      if (matched == 0) continue;
      if (rows == room) {
        throw std::invalid_argument("BdcModel: image " + std::to_string(image) + " has more than " +
                                    std::to_string(room) + " objects");
      }
      BdcObject& object = this->objects_[row_begin + rows];
      object.prediction = static_cast<std::int32_t>(n);
      object.matched = matched;
      object.predicted = to_center(ws.predictions[n]);
      ws.row_of_prediction[n] = static_cast<std::int32_t>(rows++);
    }
    this->row_count_[image] = static_cast<std::int32_t>(rows);
    for (std::size_t a = 0; a < A; ++a) {
      const std::int32_t n = ws.match[a];
      this->object_of_[first + a] =
          n < 0 ? -1 : static_cast<std::int32_t>(row_begin) + ws.row_of_prediction[static_cast<std::size_t>(n)];
    }
    aggregate_objects(image, ws);
  }

  void reaggregate_image(std::size_t image, const ImagePredictions& predictions, Workspace& ws) override {
    load_annotations(image, ws);
    load_predictions(image, predictions, ws);
    aggregate_objects(image, ws);
  }

  BdcUpdate update(int threads) override {
    const std::size_t K = this->crowd_.annotators.size(), J = this->num_classes_;
    if (threads <= 0) threads = default_threads();
    std::vector<AnnotatorPart> parts(K);
    // A pass over all annotations in their order is far quicker than picking an annotator's from all over memory, but
    // it needs the counts of all its annotators at hand. Each annotator's sums run in the order of annotations either
    // way, so neither the choice nor the division among threads shows in the bits.
    const std::size_t workers = static_cast<std::size_t>(threads);
    const bool counts_fit = this->expected_.value.size() <= workers * kCountsAtHand;
    const std::size_t chunk = counts_fit ? K / workers + 1 : K / 256 + 1;
    parallel_chunks(K, chunk, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      UpdateBuffers buffers;
      const std::size_t step = counts_fit ? end - begin : 1;
      for (std::size_t k = begin; k < end; k += step) {
        buffers.counts.assign((this->expected_.begin[k + step] - this->expected_.begin[k]) * J, 0.0);
        buffers.sums.assign(step, {});
        if (counts_fit) {
          gather_in_one_pass(k, k + step, buffers);
        } else {
          gather_one(k, buffers);
        }
        double* counts = buffers.counts.data();
        for (std::size_t n = k; n < k + step; counts += this->columns(n++) * J) {
          update_box(n, buffers.sums[n - k], parts[n]);
          update_confusion(n, counts, buffers, parts[n]);
        }
      }
    });
    AnnotatorPart all;
    for (const AnnotatorPart& part : parts) {
      all.terms += part.terms;
      all.reference += part.reference;
      all.box_change = std::max(all.box_change, part.box_change);
      all.confusion_change += part.confusion_change;
    }
    for (const auto& t : this->image_terms_) {
      all.terms.e_ln_p_t += t[0];
      all.terms.e_ln_q_t += t[1];
    }
    this->dirichlet_ = {};
    this->dirichlet_.e_ln_p_pi = all.terms.e_ln_p_pi;
    this->dirichlet_.e_ln_q_pi = all.terms.e_ln_q_pi;
    const double entries = static_cast<double>(std::max<std::size_t>(1, this->expected_.value.size()));
    return {all.terms.total() + all.reference, all.box_change, all.confusion_change / entries};
  }

  [[nodiscard]] double weight(std::size_t image, std::size_t n) const override {
    const std::vector<std::size_t>& looks = this->crowd_.assignment_begin;
    const std::size_t people = this->parameters_.weigh_by_looks
                                   ? std::max<std::size_t>(1, looks[image + 1] - looks[image])
                                   : this->crowd_.annotators.size();
    return Rules::weight(this->object(image, n).matched, this->drawers_[image], people);
  }

 protected:
  void load_annotations(std::size_t image, Workspace& ws) const {
    const std::size_t first = this->crowd_.annotation_begin[image];
    const std::size_t A = this->crowd_.annotation_begin[image + 1] - first;
    const ImageScale inverse = this->inverse_scale_[image];
    ws.annotations.resize(A);
    ws.labels.resize(A);
    for (std::size_t a = 0; a < A; ++a) {
      const Annotation& annotation = this->crowd_.annotations[first + a];
      ws.annotations[a] = scaled(annotation.box, inverse);
      ws.labels[a] = annotation.label;
    }
  }

  /// Normalised boxes, p and ln p (up to log_offset) of every prediction.
  void load_predictions(std::size_t image, const ImagePredictions& predictions, Workspace& ws) const {
    const std::size_t N = predictions.box.size(), J = this->num_classes_;
    const ImageScale inverse = this->inverse_scale_[image];
    ws.predictions.resize(N);
    ws.probs.resize(N * J);
    ws.log_probs.resize(N * J);
    ws.log_offset.resize(N);
    for (std::size_t n = 0; n < N; ++n) {
      ws.predictions[n] = scaled(predictions.box[n], inverse);
      ws.log_offset[n] = Rules::log_prior(predictions.scores + n * J, J, &ws.probs[n * J], &ws.log_probs[n * J]);
    }
  }

  /// Boxes and classes of the image's objects with the present posteriors.
  void aggregate_objects(std::size_t image, Workspace& ws) {
    const std::size_t first = this->crowd_.annotation_begin[image], J = this->num_classes_;
    const std::size_t A = this->crowd_.annotation_begin[image + 1] - first;
    const std::size_t row_begin = this->row_begin_[image], rows = this->num_objects(image);
    BdcObject* objects = this->objects_.data() + row_begin;
    double* rho = this->rho_.data() + row_begin * J;

    const bool out_of_cache = this->expected_.value.size() > kCountsAtHand;
    ws.precision.assign(rows * 4, 0.0);
    for (std::size_t r = 0; r < rows; ++r) {
      objects[r].box = {0, 0, 0, 0};
      const double* log_p = &ws.log_probs[static_cast<std::size_t>(objects[r].prediction) * J];
      std::copy(log_p, log_p + J, rho + r * J);
    }
    for (std::size_t a = 0; a < A; ++a) {
      if (out_of_cache) prefetch_column(first + a + 4);
      const std::int32_t row = this->object_of_[first + a];
      if (row < 0) continue;
      const std::size_t r = static_cast<std::size_t>(row) - row_begin;
      const auto k = static_cast<std::size_t>(this->crowd_.annotations[first + a].annotator);
      const auto& weight = this->box_weight_[k];
      BdcObject& object = objects[r];
      const CenterBox box = Rules::corrected(to_center(ws.annotations[a]), object.predicted, weight.mean);
      double* precision = &ws.precision[r * 4];
      object.box.cx += weight.precision[0] * box.cx;
      object.box.cy += weight.precision[1] * box.cy;
      object.box.w += weight.precision[2] * box.w;
      object.box.h += weight.precision[3] * box.h;
      for (std::size_t i = 0; i < 4; ++i) precision[i] += weight.precision[i];
      const double* expected = this->expected_.value.data() + static_cast<std::size_t>(this->column_of_[first + a]) * J;
      double* log_rho = rho + r * J;
      for (std::size_t j = 0; j < J; ++j) log_rho[j] += expected[j];
    }
    std::array<double, 2> terms{0, 0};
    for (std::size_t r = 0; r < rows; ++r) {
      const double* precision = &ws.precision[r * 4];
      CenterBox& box = objects[r].box;
      box = Rules::finish({box.cx / precision[0], box.cy / precision[1], box.w / precision[2], box.h / precision[3]});
      finish_classes(rho + r * J, static_cast<std::size_t>(objects[r].prediction), ws, terms);
    }
    this->image_terms_[image] = terms;
  }

  /// Columns of E[ln pi] lie all over memory: ask for them a few annotations before they are needed.
  void prefetch_column(std::size_t a) const {
    if (a >= this->column_of_.size()) return;
    const double* column =
        this->expected_.value.data() + static_cast<std::size_t>(this->column_of_[a]) * this->num_classes_;
    for (std::size_t j = 0; j < this->num_classes_; j += 8) __builtin_prefetch(column + j);
  }

  /// ln rho -> rho; adds sum rho ln p and sum rho ln rho.
  void finish_classes(double* rho, std::size_t prediction, const Workspace& ws, std::array<double, 2>& terms) const {
    const std::size_t J = this->num_classes_;
    const double* log_p = &ws.log_probs[prediction * J];
    double highest = rho[0];
    for (std::size_t j = 1; j < J; ++j) highest = std::max(highest, rho[j]);
    double sum = 0, log_p_sum = 0, log_rho_sum = 0;
    for (std::size_t j = 0; j < J; ++j) {
      const double shifted = rho[j] - highest;
      const double e = std::exp(shifted);
      rho[j] = e;
      sum += e;
      log_p_sum += e * log_p[j];
      log_rho_sum += e * shifted;
    }
    const double inverse = 1 / sum;
    for (std::size_t j = 0; j < J; ++j) rho[j] *= inverse;
    terms[0] += log_p_sum * inverse - ws.log_offset[prediction];
    terms[1] += log_rho_sum * inverse - std::log(sum);
  }

  static constexpr std::size_t kCountsAtHand = 1 << 16;  ///< numbers that stay in a core's cache

  /// What the update of one annotator reports.
  struct AnnotatorPart {
    BoundTerms terms;
    double reference = 0, box_change = 0, confusion_change = 0;
  };

  struct UpdateBuffers {
    std::vector<double> counts, alpha0, expected;
    std::vector<BoxErrorSums> sums;
    ConfusionRows rows;
  };

  /// Adds one annotation's evidence to its annotator's.
  void add_evidence(std::size_t a, std::size_t row, double* column, BoxErrorSums& sums) const {
    const BoxPrior& prior = this->parameters_.box;
    const std::size_t J = this->num_classes_;
    const double* rho = this->rho_.data() + row * J;
    for (std::size_t j = 0; j < J; ++j) column[j] += rho[j];
    const Annotation& annotation = this->crowd_.annotations[a];
    const CenterBox box =
        to_center(scaled(annotation.box, this->inverse_scale_[static_cast<std::size_t>(annotation.image)]));
    std::array<double, 4> error = Rules::error(box, this->objects_[row].predicted);
    for (std::size_t i = 0; i < 4; ++i) error[i] -= prior.mean[i];
    sums.add(error, prior.full_covariance);
  }

  /// Evidence of annotators begin .. end, all annotations in their order.
  void gather_in_one_pass(std::size_t begin, std::size_t end, UpdateBuffers& buffers) const {
    const std::size_t first_column = this->expected_.begin[begin];
    for (std::size_t a = 0; a < this->object_of_.size(); ++a) {
      const auto k = static_cast<std::size_t>(this->crowd_.annotations[a].annotator);
      const std::int32_t row = this->object_of_[a];
      if (k < begin || k >= end || row < 0) continue;
      add_evidence(a, static_cast<std::size_t>(row),
                   buffers.counts.data() + (this->column_of_[a] - first_column) * this->num_classes_,
                   buffers.sums[k - begin]);
    }
  }

  /// Evidence of annotator k. Its annotations lie all over memory: ask for them a few steps before they are needed.
  void gather_one(std::size_t k, UpdateBuffers& buffers) const {
    constexpr std::size_t far = 16, near = 8;
    const std::size_t end = this->annotator_begin_[k + 1];
    for (std::size_t n = this->annotator_begin_[k]; n < end; ++n) {
      if (n + far < end) {
        const std::size_t a = this->by_annotator_[n + far];
        __builtin_prefetch(&this->object_of_[a]);
        __builtin_prefetch(&this->column_of_[a]);
        __builtin_prefetch(&this->crowd_.annotations[a]);
      }
      if (n + near < end && this->object_of_[this->by_annotator_[n + near]] >= 0) {
        const auto row = static_cast<std::size_t>(this->object_of_[this->by_annotator_[n + near]]);
        __builtin_prefetch(&this->objects_[row]);
        __builtin_prefetch(this->rho_.data() + row * this->num_classes_);
      }
      const std::size_t a = this->by_annotator_[n];
      if (this->object_of_[a] < 0) continue;
      add_evidence(a, static_cast<std::size_t>(this->object_of_[a]),
                   buffers.counts.data() + (this->column_of_[a] - this->expected_.begin[k]) * this->num_classes_,
                   buffers.sums[0]);
    }
  }

  void update_box(std::size_t k, const BoxErrorSums& sums, AnnotatorPart& part) {
    if (Rules::keeps_posterior_without_matches && sums.count == 0) return;
    const std::array<double, 4> before = this->box_posterior_[k].mean;
    this->set_box_posterior(k, sums);
    for (std::size_t i = 0; i < 4; ++i) {
      part.box_change = std::max(part.box_change, std::abs(this->box_posterior_[k].mean[i] - before[i]));
    }
  }

  /// counts becomes alpha.
  void update_confusion(std::size_t k, double* counts, UpdateBuffers& buffers, AnnotatorPart& part) {
    const std::size_t J = this->num_classes_, size = this->columns(k) * J;
    buffers.alpha0.resize(size);
    buffers.expected.resize(size);
    this->prior_columns(k, buffers.alpha0.data());
    double* before = this->expected_.value.data() + this->expected_.begin[k] * J;
    double* alpha = counts;
    for (std::size_t n = 0; n < size; ++n) alpha[n] += buffers.alpha0[n];
    const ConfusionView view0 = this->view(k, buffers.alpha0.data()), view = this->view(k, alpha);
    if (!Rules::exact_bound) part.reference = reference_bound_term(this->tables_, J, view0, view, before);
    bdc::expected_log_confusion(this->tables_, J, view, buffers.rows, buffers.expected.data());
    if (Rules::exact_bound) {
      part.terms = dirichlet_terms(this->tables_, J, view0, view, buffers.expected.data(), buffers.rows);
      for (std::size_t n = 0; n < size; ++n)
        part.terms.e_ln_p_c += (alpha[n] - buffers.alpha0[n]) * buffers.expected[n];
    }
    for (std::size_t n = 0; n < size; ++n) {
      part.confusion_change += std::abs(buffers.expected[n] - before[n]);
      before[n] = buffers.expected[n];
    }
  }
};

}  // namespace bdc
