#include "bdc/learn/bdc/bdc_model.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "bdc/base/error.h"
#include "bdc/base/parallel.h"
#include "bdc/base/state_bytes.h"
#include "crowd/image_scale.h"

namespace bdc {

BdcModel::~BdcModel() = default;

BdcModel::BdcModel(const CrowdData& crowd, const BdcParameters& parameters, const AnnotatorPosteriors* prior,
                   Span<const std::int32_t> max_objects)
    : crowd_(crowd), parameters_(parameters), tables_(parameters.confusion), num_classes_(crowd.classes.size()) {
  const std::size_t images = crowd.images.size(), K = crowd.annotators.size(), A = crowd.annotations.size();
  if (A > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw DataError("BDC: " + std::to_string(A) + " annotations are more than the 2147483647 it can hold");
  }
  if (crowd.annotation_begin.size() != images + 1) throw std::logic_error("BdcModel: the crowd data is not finalized");
  if (prior != nullptr) {
    aligned_prior_ = std::make_unique<AnnotatorPosteriors>(aligned_with(*prior, crowd));
    prior_ = aligned_prior_.get();
  }

  inverse_scale_.resize(images);
  drawers_.assign(images, 0);
  row_begin_.assign(images + 1, 0);
  row_count_.assign(images, 0);
  image_terms_.assign(images, {0, 0});
  previous_.resize(A);
  std::vector<std::int32_t> last(K, -1);
  for (std::size_t i = 0; i < images; ++i) {
    const std::size_t first = crowd.annotation_begin[i], end = crowd.annotation_begin[i + 1];
    const ImageScale scale = image_scale(crowd, i);
    inverse_scale_[i] = {1 / scale.width, 1 / scale.height};
    for (std::size_t a = first; a < end; ++a) {
      std::int32_t& before = last[static_cast<std::size_t>(crowd.annotations[a].annotator)];
      previous_[a] = before;
      if (before < 0) ++drawers_[i];
      before = static_cast<std::int32_t>(a - first);
    }
    for (std::size_t a = first; a < end; ++a) last[static_cast<std::size_t>(crowd.annotations[a].annotator)] = -1;
    std::size_t room = end - first;
    if (!max_objects.empty()) room = std::min(room, static_cast<std::size_t>(max_objects[i]));
    row_begin_[i + 1] = row_begin_[i] + room;
  }

  object_of_.assign(A, -1);
  objects_.resize(row_begin_.back());
  rho_.resize(row_begin_.back() * num_classes_);

  find_columns();

  box_weight_.resize(K);
  box_posterior_.resize(K);
  box_sums_.resize(K);
  for (std::size_t k = 0; k < K; ++k) {
    set_box_posterior(k, {});
  }
  start_confusion();
}

void BdcModel::find_columns() {
  const std::size_t K = crowd_.annotators.size(), A = crowd_.annotations.size();
  annotator_begin_.assign(K + 1, 0);
  for (const Annotation& a : crowd_.annotations) ++annotator_begin_[static_cast<std::size_t>(a.annotator) + 1];
  std::partial_sum(annotator_begin_.begin(), annotator_begin_.end(), annotator_begin_.begin());
  by_annotator_.resize(A);
  std::vector<std::size_t> next(annotator_begin_.begin(), annotator_begin_.end() - 1);
  for (std::size_t a = 0; a < A; ++a) {
    by_annotator_[next[static_cast<std::size_t>(crowd_.annotations[a].annotator)]++] = static_cast<std::uint32_t>(a);
  }
  expected_.num_classes = num_classes_;
  expected_.begin.assign(1, 0);
  column_of_.resize(A);
  std::vector<std::int32_t> labels;
  for (std::size_t k = 0; k < K; ++k) {
    labels.clear();
    for (std::size_t n = annotator_begin_[k]; n < annotator_begin_[k + 1]; ++n) {
      labels.push_back(crowd_.annotations[by_annotator_[n]].label);
    }
    if (prior_ != nullptr) {
      for (std::size_t c = prior_->confusion.begin[k]; c < prior_->confusion.begin[k + 1]; ++c) {
        labels.push_back(prior_->confusion.label[c]);
      }
    }
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    expected_.label.insert(expected_.label.end(), labels.begin(), labels.end());
    expected_.begin.push_back(expected_.label.size());
    for (std::size_t n = annotator_begin_[k]; n < annotator_begin_[k + 1]; ++n) {
      const std::uint32_t a = by_annotator_[n];
      column_of_[a] = static_cast<std::uint32_t>(expected_.find(k, crowd_.annotations[a].label));
    }
  }
  expected_.label.shrink_to_fit();
  expected_.value.resize(expected_.label.size() * num_classes_);
}

void BdcModel::start_confusion() {
  const std::size_t K = crowd_.annotators.size(), J = num_classes_;
  ConfusionRows rows;
  if (prior_ == nullptr) {
    // Every annotator alike: all rows of alpha are the prior's.
    bdc::expected_log_confusion(tables_, J, {}, rows, nullptr);
    const BoundTerms each = dirichlet_terms(tables_, J, {}, {}, nullptr, rows);
    dirichlet_.e_ln_p_pi = static_cast<double>(K) * each.e_ln_p_pi;
    dirichlet_.e_ln_q_pi = static_cast<double>(K) * each.e_ln_q_pi;
    const double off = tables_.off_diagonal.digamma(tables_.prior.off_diagonal);
    const double diagonal = tables_.diagonal.digamma(tables_.prior.diagonal);
    for (std::size_t c = 0; c < expected_.label.size(); ++c) {
      const auto given = static_cast<std::size_t>(expected_.label[c]);
      for (std::size_t j = 0; j < J; ++j) expected_.value[c * J + j] = (j == given ? diagonal : off) - rows.psi[j];
    }
    return;
  }
  std::vector<double> alpha0;
  for (std::size_t k = 0; k < K; ++k) {
    alpha0.resize(columns(k) * J);
    prior_columns(k, alpha0.data());
    double* expected = expected_.value.data() + expected_.begin[k] * J;
    bdc::expected_log_confusion(tables_, J, view(k, alpha0.data()), rows, expected);
    dirichlet_ += dirichlet_terms(tables_, J, view(k, alpha0.data()), view(k, alpha0.data()), expected, rows);
  }
}

void BdcModel::clear_image(std::size_t image) {
  row_count_[image] = 0;
  image_terms_[image] = {0, 0};
  std::fill(object_of_.begin() + static_cast<std::ptrdiff_t>(crowd_.annotation_begin[image]),
            object_of_.begin() + static_cast<std::ptrdiff_t>(crowd_.annotation_begin[image + 1]), -1);
}

std::int32_t BdcModel::object_of(std::size_t annotation) const {
  const std::int32_t row = object_of_[annotation];
  const auto image = static_cast<std::size_t>(crowd_.annotations[annotation].image);
  return row < 0 ? -1 : row - static_cast<std::int32_t>(row_begin_[image]);
}

ConfusionView BdcModel::view(std::size_t k, const double* value) const {
  return {{expected_.label.data() + expected_.begin[k], columns(k)}, value};
}

void BdcModel::confusion_counts(std::size_t k, double* counts) const {
  const std::size_t J = num_classes_;
  std::fill(counts, counts + columns(k) * J, 0.0);
  for (std::size_t n = annotator_begin_[k]; n < annotator_begin_[k + 1]; ++n) {
    const std::size_t a = by_annotator_[n];
    const std::int32_t row = object_of_[a];
    if (row < 0) continue;
    const double* rho = &rho_[static_cast<std::size_t>(row) * J];
    double* column = counts + (column_of_[a] - expected_.begin[k]) * J;
    for (std::size_t j = 0; j < J; ++j) column[j] += rho[j];
  }
}

void BdcModel::add_earlier_counts(std::size_t k, double* counts) const {
  if (prior_ == nullptr) return;
  const std::size_t J = num_classes_;
  const ConfusionColumns& earlier = prior_->confusion;
  std::size_t e = earlier.begin[k];
  for (std::size_t c = expected_.begin[k]; c < expected_.begin[k + 1]; ++c, counts += J) {
    if (e == earlier.begin[k + 1] || earlier.label[e] != expected_.label[c]) continue;
    for (std::size_t j = 0; j < J; ++j) counts[j] += earlier.value[e * J + j];
    ++e;
  }
}

void BdcModel::prior_columns(std::size_t k, double* alpha0) const {
  const std::size_t J = num_classes_;
  for (std::size_t c = 0; c < columns(k); ++c) {
    std::fill(alpha0 + c * J, alpha0 + (c + 1) * J, parameters_.confusion.off_diagonal);
    alpha0[c * J + static_cast<std::size_t>(expected_.label[expected_.begin[k] + c])] = parameters_.confusion.diagonal;
  }
  add_earlier_counts(k, alpha0);
}

void BdcModel::set_box_posterior(std::size_t k, const BoxErrorSums& sums) {
  box_sums_[k] = sums;
  BoxErrorSums all = sums;
  if (prior_ != nullptr) all.merge(prior_->annotators[k].box);
  BoxPosterior posterior = update_box_posterior(parameters_.box, all);
  for (std::size_t i = 0; i < 4; ++i) {
    const double limit = parameters_.box_mean_limit[i];
    if (limit > 0) posterior.mean[i] = std::clamp(posterior.mean[i], -limit, limit);
  }
  box_posterior_[k] = posterior;
  box_weight_[k] = {posterior.mean, posterior.precision()};
}

BoundTerms BdcModel::present_bound(int threads) const {
  const std::size_t K = crowd_.annotators.size(), J = num_classes_;
  const std::size_t chunk = K / 256 + 1;
  std::vector<double> partial(K / chunk + 1, 0.0);
  parallel_chunks(K, chunk, threads, [&](std::size_t begin, std::size_t end, std::size_t index) {
    std::vector<double> counts;
    for (std::size_t k = begin; k < end; ++k) {
      counts.resize(columns(k) * J);
      confusion_counts(k, counts.data());
      const double* expected = expected_.value.data() + expected_.begin[k] * J;
      for (std::size_t n = 0; n < counts.size(); ++n) partial[index] += counts[n] * expected[n];
    }
  });
  BoundTerms terms = dirichlet_;
  for (const double p : partial) terms.e_ln_p_c += p;
  for (const auto& t : image_terms_) {
    terms.e_ln_p_t += t[0];
    terms.e_ln_q_t += t[1];
  }
  return terms;
}

bool BdcModel::target_of(std::size_t i, std::size_t n, Box& box, double& w) const {
  box = to_corners(object(i, n).box);
  box = {std::clamp(box.x1, 0.0, 1.0), std::clamp(box.y1, 0.0, 1.0), std::clamp(box.x2, 0.0, 1.0),
         std::clamp(box.y2, 0.0, 1.0)};
  w = std::min(1.0, weight(i, n));
  if (!box.valid() || !(w > parameters_.min_weight)) return false;
  box = scaled(box, {1 / inverse_scale_[i].width, 1 / inverse_scale_[i].height});
  return true;
}

void BdcModel::append_targets(std::size_t image, Targets& targets) const {
  const std::size_t J = num_classes_;
  targets.num_classes = static_cast<int>(J);
  if (targets.begin.empty()) targets.begin.push_back(0);
  for (std::size_t n = 0; n < num_objects(image); ++n) {
    Box box;
    double w = 0;
    if (!target_of(image, n, box, w)) continue;
    const double* probs = class_probs(image, n);
    targets.box.push_back(box);
    targets.class_probs.insert(targets.class_probs.end(), probs, probs + J);
    targets.weight.push_back(w);
    targets.score.push_back(w * *std::max_element(probs, probs + J));
  }
  targets.begin.push_back(targets.box.size());
}

template <class Archive, class Self>
void BdcModel::archive(Archive& state, Self& self) {
  state(self.row_count_);
  state(self.image_terms_);
  state(self.object_of_);
  state(self.objects_);
  state(self.rho_);
  state(self.box_weight_);
  state(self.box_posterior_);
  state(self.box_sums_);
  state(self.expected_.value);
  state(self.dirichlet_);
}

void BdcModel::save(StateWriter& state) const {
  archive(state, *this);
}
void BdcModel::load(StateReader& state) {
  archive(state, *this);
}

void BdcModel::copy_image(const BdcModel& from, std::size_t image) {
  StateWriter bytes;
  from.save_image(image, bytes);
  const std::string image_bytes = bytes.take();
  StateReader state(image_bytes);
  load_image(image, state);
}

void BdcModel::save_image(std::size_t image, StateWriter& state) const {
  const std::size_t rows = num_objects(image), first = row_begin_[image];
  state(row_count_[image]), state(image_terms_[image]);
  for (std::size_t a = crowd_.annotation_begin[image]; a < crowd_.annotation_begin[image + 1]; ++a) state(object_of(a));
  for (std::size_t n = 0; n < rows; ++n) state(objects_[first + n]);
  for (std::size_t n = first * num_classes_; n < (first + rows) * num_classes_; ++n) state(rho_[n]);
}

void BdcModel::load_image(std::size_t image, StateReader& state) {
  const std::size_t first = row_begin_[image], room = row_begin_[image + 1] - first;
  std::int32_t count = 0;
  state(count);
  if (count < 0 || static_cast<std::size_t>(count) > room) {
    throw std::invalid_argument("the evidence of image " + std::to_string(image) + " belongs to other labels");
  }
  row_count_[image] = count;
  state(image_terms_[image]);
  for (std::size_t a = crowd_.annotation_begin[image]; a < crowd_.annotation_begin[image + 1]; ++a) {
    std::int32_t object = -1;
    state(object);
    if (object < -1 || object >= count) {
      throw std::invalid_argument("the evidence of image " + std::to_string(image) + " is damaged");
    }
    object_of_[a] = object < 0 ? -1 : static_cast<std::int32_t>(first) + object;
  }
  const std::size_t rows = num_objects(image);
  for (std::size_t n = 0; n < rows; ++n) state(objects_[first + n]);
  for (std::size_t n = first * num_classes_; n < (first + rows) * num_classes_; ++n) state(rho_[n]);
}

Targets BdcModel::compact_targets(std::vector<double> rho) const {
  const std::size_t J = num_classes_;
  Targets targets;
  targets.num_classes = static_cast<int>(J);
  targets.begin.assign(1, 0);
  targets.begin.reserve(crowd_.images.size() + 1);
  std::size_t rows = 0;
  for (const std::int32_t count : row_count_) rows += static_cast<std::size_t>(count);
  targets.box.reserve(rows);
  targets.weight.reserve(rows);
  targets.score.reserve(rows);
  for (std::size_t i = 0; i < crowd_.images.size(); ++i) {
    for (std::size_t n = 0; n < num_objects(i); ++n) {
      Box box;
      double w = 0;
      if (!target_of(i, n, box, w)) continue;
      // Rows only ever move forward, so the compacted rows may share the vector.
      const double* from = &rho[(row_begin_[i] + n) * J];
      double* to = &rho[targets.box.size() * J];
      if (from != to) std::copy(from, from + J, to);
      targets.box.push_back(box);
      targets.weight.push_back(w);
      targets.score.push_back(w * *std::max_element(to, to + J));
    }
    targets.begin.push_back(targets.box.size());
  }
  rho.resize(targets.box.size() * J);
  targets.class_probs = std::move(rho);
  return targets;
}

Targets BdcModel::targets() const {
  return compact_targets(rho_);
}
Targets BdcModel::release_targets() {
  return compact_targets(std::move(rho_));
}

AnnotatorPosteriors BdcModel::summary(const char* profile, ConfusionColumns counts) const {
  AnnotatorPosteriors result;
  result.profile = profile;
  result.box_prior = parameters_.box;
  result.box_mean_limit = parameters_.box_mean_limit;
  result.confusion_prior = parameters_.confusion;
  result.classes = crowd_.classes;
  result.annotators.resize(crowd_.annotators.size());
  for (std::size_t k = 0; k < result.annotators.size(); ++k) {
    AnnotatorEvidence& evidence = result.annotators[k];
    evidence.id = crowd_.annotators[k].id;
    evidence.name = crowd_.annotators[k].name;
    evidence.box = box_sums_[k];
  }
  for (const Assignment& a : crowd_.assignments) ++result.annotators[static_cast<std::size_t>(a.annotator)].images;
  for (const Annotation& a : crowd_.annotations) ++result.annotators[static_cast<std::size_t>(a.annotator)].annotations;
  result.confusion = std::move(counts);
  return result;
}

void BdcModel::fill_counts(ConfusionColumns& counts, int threads) const {
  const std::size_t K = crowd_.annotators.size();
  parallel_chunks(K, K / 256 + 1, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t k = begin; k < end; ++k) {
      double* mine = counts.value.data() + expected_.begin[k] * num_classes_;
      confusion_counts(k, mine);
    }
  });
}

AnnotatorPosteriors BdcModel::posteriors(const char* profile, int threads) const {
  ConfusionColumns counts = expected_;
  fill_counts(counts, threads);
  return summary(profile, std::move(counts));
}

AnnotatorPosteriors BdcModel::release_posteriors(const char* profile, int threads) {
  fill_counts(expected_, threads);
  return summary(profile, std::move(expected_));
}

}  // namespace bdc
