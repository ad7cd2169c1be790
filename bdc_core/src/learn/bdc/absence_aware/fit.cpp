#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/free_memory.h"
#include "bdc/base/parallel.h"
#include "bdc/learn/bdc/absence_aware.h"
#include "learn/bdc/absence_aware/edge_noise.h"
#include "learn/bdc/absence_aware/evidence.h"
#include "learn/bdc/absence_aware/image_pass.h"
#include "learn/bdc/absence_aware/image_targets.h"
#include "learn/bdc/absence_aware/label_agreement.h"
#include "learn/bdc/absence_aware/object_rate.h"
#include "learn/bdc/absence_aware/partition.h"
#include "learn/bdc/absence_aware/problem.h"
#include "learn/bdc/absence_aware/source_update.h"

namespace bdc {
namespace absence_aware {
namespace {

constexpr std::size_t kImagesPerChunk = 16, kImagesPerTrim = 8192;
/// Of a tiny crowd's bound a millionth is a rise that means nothing; it is measured against this instead.
constexpr double kSmallBound = 2e4;
constexpr double kLeastPower = 0, kMostPower = 1.25, kLeastTail = 1.5, kMostTail = 200;

/// The fit of one crowd: the state of every image, the beliefs, and one member function per update.
class Fit {
 public:
  Fit(const CrowdData& crowd, const Predictions* predictions, const AbsenceAwareOptions& options)
      : options_(options),
        beliefs_(initial_beliefs(crowd, predictions != nullptr,
                                 options.prior_evidence != nullptr ? &options.prior_evidence->confusion : nullptr)) {
    if (options.priors != nullptr) {
      const std::vector<double> share = beliefs_.priors.wrong_share;
      beliefs_.priors = *options.priors;
      if (beliefs_.priors.wrong_share.size() != share.size()) beliefs_.priors.wrong_share = share;
    }
    problem_ = make_problem(crowd, predictions, beliefs_);
    state_.resize(problem_.images());
    if (options.prior_evidence != nullptr) {
      prior_ = empty_evidence(beliefs_);
      add_prior(*options.prior_evidence);
      has_prior_ = true;
      align_prior();
    }
    for (std::size_t k = 0; k < beliefs_.sources(); ++k) {
      const bool before = has_prior_ && prior_.source[k].boxes > 0;
      beliefs_.source[k].active = problem_.source_image_begin[k + 1] > problem_.source_image_begin[k] || before;
    }
    if (options.priors != nullptr || options.prior_evidence != nullptr) {
      // Start from what is known already.
      AbsenceAwareEvidence start = has_prior_ ? prior_ : empty_evidence(beliefs_);
      ConfusionColumns counts = std::move(start.confusion);
      set_source_posteriors(start, beliefs_);
      for (SourceBelief& s : beliefs_.source) {
        s.right_strength = beliefs_.priors.right_strength;
        s.wrong_strength = beliefs_.priors.wrong_strength;
      }
      set_confusion_posteriors(std::move(counts), beliefs_, options_.threads);
    }
  }

  AbsenceAwareResult run() {
    AbsenceAwareResult result;
    double before = 0;
    for (int round = 1; round <= std::max(1, options_.max_rounds); ++round) {
      const bool weighed = round == kIndependentRounds + 1 && weigh_dependence(result.dependence);
      image_pass(round == 1 ? ImagePass::first : ImagePass::partition);
      observe(AbsenceAwareUpdate::partition);
      update_sources(true);
      for (int cycle = is_huge(beliefs_.log_confusion) ? 1 : kCycles; cycle > 0; --cycle) {
        image_pass(ImagePass::boxes);
        observe(AbsenceAwareUpdate::boxes);
        update_sources(false);
      }
      image_pass(ImagePass::boxes);
      observe(AbsenceAwareUpdate::boxes);
      update_noise_shape();
      image_pass(ImagePass::boxes);
      observe(AbsenceAwareUpdate::boxes);
      update_sources(false);
      const double bound = lower_bound();
      const double change = round == 1 ? 1.0 : (bound - before) / std::max(kSmallBound, std::abs(bound));
      result.bound.push_back(bound);
      result.rounds = round;
      before = bound;
      if (options_.progress) options_.progress(round, bound, change);
      if (round > kIndependentRounds && !weighed && change < options_.tolerance) {
        result.converged = true;
        break;
      }
    }
    image_pass(ImagePass::boxes);
    collect(result);
    return result;
  }

 private:
  static constexpr int kIndependentRounds = 2;  ///< before it is asked who errs alike
  static constexpr int kCycles = 4;             ///< updates of boxes and sources between two looks at the partition

  /// Takes over evidence with other columns, and perhaps without a detector.
  void add_prior(const AbsenceAwareEvidence& e) {
    const std::size_t J = beliefs_.classes;
    if (e.source.size() < beliefs_.annotators || e.source.size() > beliefs_.annotators + 1 ||
        e.class_count.size() != J || e.confusion.num_classes != J) {
      throw std::invalid_argument("prior evidence does not fit the crowd: annotators or classes differ");
    }
    for (std::size_t k = 0; k < std::min(e.source.size(), prior_.source.size()); ++k) {
      prior_.source[k] = e.source[k];
      for (std::size_t c = e.confusion.begin[k]; c < e.confusion.begin[k + 1]; ++c) {
        const double* from = e.confusion.value.data() + c * J;
        std::copy(from, from + J, prior_.confusion.value.data() + prior_.confusion.find(k, e.confusion.label[c]) * J);
      }
    }
    prior_.class_count = e.class_count;
    prior_.real_level = e.real_level;
    prior_.spurious_level = e.spurious_level;
  }

  /// Looks for sources that err alike and sets what every look counts; whether any were found.
  bool weigh_dependence(Dependence& found) {
    found = find_dependence(problem_, state_, beliefs_);
    if (found.pairs.empty()) return false;
    std::vector<std::vector<std::pair<std::int32_t, double>>> partners(beliefs_.sources());
    for (const Dependence::Pair& p : found.pairs) {
      partners[static_cast<std::size_t>(p.first)].emplace_back(p.second, p.share);
      partners[static_cast<std::size_t>(p.second)].emplace_back(p.first, p.share);
    }
    beliefs_.dependent_begin.assign(1, 0);
    for (const auto& list : partners) {
      for (const auto& [other, share] : list) {
        beliefs_.dependent_on.push_back(other);
        beliefs_.dependent_share.push_back(share);
      }
      beliefs_.dependent_begin.push_back(beliefs_.dependent_on.size());
    }
    weigh_looks(beliefs_, problem_);
    for (ImageState& image : state_) image.quiet = 0;
    image_pass(ImagePass::boxes);
    observe(AbsenceAwareUpdate::dependence);
    return true;
  }

  void image_pass(ImagePass pass) {
    parallel_chunks(problem_.images(), kImagesPerChunk, options_.threads,
                    [&](std::size_t begin, std::size_t end, std::size_t) {
                      for (std::size_t i = begin; i < end; ++i) {
                        run_image_pass(beliefs_, problem_.image(i), pass, state_[i]);
                        if (pass != ImagePass::boxes && is_huge(beliefs_.log_confusion)) forget_neighbours(state_[i]);
                      }
                    });
  }

  /// Sums over images of body(i, sums), in chunk order.
  template <std::size_t N, class Body>
  std::array<double, N> sum_over_images(const Body& body) const {
    const std::size_t chunks = (problem_.images() + kImagesPerChunk - 1) / kImagesPerChunk;
    std::vector<std::array<double, N>> partial(chunks);
    parallel_chunks(problem_.images(), kImagesPerChunk, options_.threads,
                    [&](std::size_t begin, std::size_t end, std::size_t chunk) {
                      std::array<double, N> sums{};
                      for (std::size_t i = begin; i < end; ++i) body(i, sums);
                      partial[chunk] = sums;
                    });
    std::array<double, N> total{};
    for (const auto& p : partial) {
      for (std::size_t n = 0; n < N; ++n) total[n] += p[n];
    }
    return total;
  }

  /// Evidence of all images. Parallel over sources, each adding its boxes in order: no partial sums to hold, and the
  /// same bits for any number of threads. `buffer` is overwritten with the confusion counts.
  AbsenceAwareEvidence gather(ConfusionColumns buffer) const {
    const std::size_t S = beliefs_.sources(), J = beliefs_.classes;
    AbsenceAwareEvidence evidence;
    evidence.source.resize(S);
    evidence.class_count.assign(J, 0.0);
    evidence.confusion = std::move(buffer);
    std::vector<double> objects(problem_.images()), doubt(problem_.images());
    for (std::size_t i = 0; i < problem_.images(); ++i) {
      objects[i] = drawn_objects(state_[i]) + state_[i].undetected;
      doubt[i] = doubt_of(state_[i]);
      add_image_totals(beliefs_, problem_.image(i), state_[i], evidence);
    }
    const TailTerms tail(beliefs_.priors.tail);
    parallel_chunks(S, 1 + S / 64, options_.threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t first = evidence.confusion.begin[k], last = evidence.confusion.begin[k + 1];
        double* counts = evidence.confusion.value.data() + first * J;
        std::fill(counts, counts + (last - first) * J, 0.0);
        SourceEvidence& sums = evidence.source[k];
        for (std::size_t s = problem_.source_item_begin[k]; s < problem_.source_item_begin[k + 1]; ++s) {
          const std::size_t n = problem_.source_item[s];
          const ImageState& image = state_[problem_.item_image[n]];
          if (image.blank) {
            sums.spurious += problem_.items[n].weight;
            continue;
          }
          const std::size_t local = n - problem_.item_begin[problem_.item_image[n]];
          add_box(tail, beliefs_.source[k], problem_.items[n],
                  image.candidates[static_cast<std::size_t>(image.candidate_of[local])], J, first,
                  problem_.lone[problem_.item_image[n]] != 0, sums, counts);
        }
        double there = 0, doubtful = 0;
        for (std::size_t s = problem_.source_image_begin[k]; s < problem_.source_image_begin[k + 1]; ++s) {
          const std::size_t i = problem_.source_image[s];
          if (problem_.lone[i] != 0) continue;
          const double w = problem_.look_weight.empty() ? 1.0 : problem_.look_weight[problem_.source_look[s]];
          if (!state_[i].blank) there += w * objects[i], doubtful += w * doubt[i];
          if (!state_[i].blank || k == beliefs_.annotators) sums.images += w;
        }
        sums.missed = std::max(0.0, there - sums.found);
        sums.missed_doubt = std::max(0.0, doubtful - sums.found_doubt);
      }
    });
    return evidence;
  }

  /// Posteriors of the sources, with their priors refitted; then the shift.
  void update_sources(bool first_of_round) {
    AbsenceAwareEvidence evidence = gather(std::move(beliefs_.log_confusion));
    if (has_prior_) evidence.merge(prior_);
    fit_source_priors(evidence.source, beliefs_, options_.threads);
    set_source_posteriors(evidence, beliefs_);
    set_object_rates(evidence.rate_images, beliefs_.priors);
    if (first_of_round || !is_large(evidence.confusion)) {
      fit_confusion_priors(evidence.confusion, beliefs_, options_.threads);
    }
    set_confusion_posteriors(std::move(evidence.confusion), beliefs_, options_.threads);
    observe(AbsenceAwareUpdate::sources);
    shift();
    observe(AbsenceAwareUpdate::shift);
  }

  /// Moves all boxes one way and all biases the other, by the amount that the biases' prior likes best. The images
  /// cannot tell (only box + bias matters to them), so single updates would need thousands of rounds to get there.
  void shift() {
    align_prior();
    std::array<double, 4> step{};
    for (std::size_t e = 0; e < 4; ++e) {
      double weighted = 0, precision = 0;
      for (const SourceBelief& s : beliefs_.source) {
        if (!s.active) continue;
        weighted += s.precision[e] * s.bias[e];
        precision += s.precision[e];
      }
      if (precision > 0) step[e] = weighted / precision;
    }
    for (SourceBelief& s : beliefs_.source) {
      if (!s.active) continue;
      for (std::size_t e = 0; e < 4; ++e) s.bias[e] -= step[e];
    }
    for (ImageState& image : state_) {
      for (Candidate& c : image.candidates) {
        for (std::size_t e = 0; e < 4; ++e) c.mean[e] += c.scale[e & 1U] * step[e];
      }
    }
    if (has_prior_) move_prior(step);
  }

  /// Where "no bias" was in the earlier project is arbitrary, as it is here. Its common offset goes where its
  /// likelihood is highest, so that it says who differs from whom and nothing of all together.
  void align_prior() {
    if (!has_prior_) return;
    std::array<double, 4> offset{};
    for (std::size_t e = 0; e < 4; ++e) {
      double weighted = 0, precision = 0;
      for (std::size_t k = 0; k < beliefs_.sources(); ++k) {
        const SourceBelief& b = beliefs_.source[k];
        const SourceEvidence& s = prior_.source[k];
        weighted += b.precision[e] * (s.error[e] - b.bias[e] * s.weight[e]);
        precision += b.precision[e] * s.weight[e];
      }
      if (precision > 0) offset[e] = weighted / precision;
    }
    move_prior(offset);
  }

  /// Takes `step` off every edge error of the earlier evidence.
  void move_prior(const std::array<double, 4>& step) {
    for (SourceEvidence& s : prior_.source) {
      for (std::size_t e = 0; e < 4; ++e) {
        s.square[e] += step[e] * (step[e] * s.weight[e] - 2 * s.error[e]);
        s.error[e] -= step[e] * s.weight[e];
      }
    }
  }

  /// The part of the bound that the noise's shape can change, for one axis (0: x, 1: y).
  double edge_terms(std::size_t i, std::size_t axis, double power, const TailTerms& tail) const {
    if (state_[i].blank) return 0;
    const ImageItems image = problem_.image(i);
    double sum = 0;
    for (const Candidate& c : state_[i].candidates) {
      if (c.members.size() == 1) continue;  // its place says nothing of errors
      const double scale = noise_scale(c.size[axis], beliefs_.priors.reference_size[axis], power);
      const double log_scale = std::log(scale);
      double terms = 0;
      for (const std::int32_t n : c.members) {
        const Item& item = image.items[static_cast<std::size_t>(n)];
        const SourceBelief& s = beliefs_.source[static_cast<std::size_t>(item.source)];
        for (std::size_t e = axis; e < 4; e += 2) {
          const double d = expected_square(s, e, item.edge[e], c.mean[e], c.variance[e], scale);
          terms += edge_evidence(tail, s.log_precision[e], d, log_scale);
        }
      }
      sum += c.existence * c.voices * terms;
    }
    return sum;
  }

  /// Size powers and tail: each is tried one step down and one step up and goes where the bound is highest; a step
  /// that leads nowhere is halved. Existence must be fresh (an image pass since the sources changed): the bound is
  /// compared at fixed existence, so that it then holds for the best existence too.
  void update_noise_shape() {
    AbsenceAwarePriors& p = beliefs_.priors;
    const std::array<double, 3> offset{0, -1, 1};
    const TailTerms tail(p.tail);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      std::array<double, 3> power{};
      for (std::size_t t = 0; t < 3; ++t) {
        power[t] = std::min(kMostPower, std::max(kLeastPower, p.size_power[axis] + offset[t] * power_step_[axis]));
      }
      const auto value = sum_over_images<3>([&](std::size_t i, std::array<double, 3>& sums) {
        for (std::size_t t = 0; t < 3; ++t) sums[t] += edge_terms(i, axis, power[t], tail);
      });
      const std::size_t best = best_of(value);
      p.size_power[axis] = power[best];
      if (best == 0) power_step_[axis] = std::max(0.01, power_step_[axis] / 2);
    }
    for (ImageState& image : state_) {
      for (Candidate& c : image.candidates) {
        for (std::size_t axis = 0; axis < 2; ++axis) {
          c.scale[axis] = noise_scale(c.size[axis], p.reference_size[axis], p.size_power[axis]);
        }
      }
    }
    std::array<double, 3> tails{};
    for (std::size_t t = 0; t < 3; ++t) {
      tails[t] = std::min(kMostTail, std::max(kLeastTail, p.tail * std::exp(offset[t] * tail_step_)));
    }
    const auto value = sum_over_images<3>([&](std::size_t i, std::array<double, 3>& sums) {
      for (std::size_t t = 0; t < 3; ++t) {
        const TailTerms terms(tails[t]);
        for (std::size_t axis = 0; axis < 2; ++axis) sums[t] += edge_terms(i, axis, p.size_power[axis], terms);
      }
    });
    const std::size_t best = best_of(value);
    p.tail = tails[best];
    if (best == 0) tail_step_ = std::max(0.02, tail_step_ / 2);
    observe(AbsenceAwareUpdate::noise_shape);
  }

  static std::size_t best_of(const std::array<double, 3>& value) {
    return static_cast<std::size_t>(std::max_element(value.begin(), value.end()) - value.begin());
  }

  double lower_bound() const {
    const auto sums = sum_over_images<1>([&](std::size_t i, std::array<double, 1>& sum) {
      sum[0] += image_bound(beliefs_, problem_.image(i), state_[i]);
    });
    double bound = sums[0] + global_bound(beliefs_);
    if (has_prior_) bound += expected_log_likelihood(prior_, beliefs_);
    return bound;
  }

  void observe(AbsenceAwareUpdate update) const {
    if (options_.observer) options_.observer(update, lower_bound());
  }

  /// Room for exactly what will be appended: growing by doubling would need twice the memory.
  void reserve_targets(Targets& targets) const {
    std::size_t count = 0;
    for (const ImageState& image : state_) {
      for (const Candidate& c : image.candidates) {
        count += c.existence * image.occupied < options_.min_existence ? 0 : 1;
      }
    }
    targets.box.reserve(count);
    targets.class_probs.reserve(count * beliefs_.classes);
    targets.weight.reserve(count);
    targets.score.reserve(count);
    targets.existence.reserve(count);
    targets.located.reserve(count);
    targets.box_std.reserve(count);
    targets.begin.reserve(state_.size() + 1);
  }

  void collect(AbsenceAwareResult& result) {
    result.skipped_boxes = problem_.skipped;
    result.targets.num_classes = static_cast<int>(beliefs_.classes);
    if (options_.keep_log_confusion) {
      result.evidence = in_box_sizes(gather(beliefs_.log_confusion));
    } else {
      result.evidence = in_box_sizes(gather(std::move(beliefs_.log_confusion)));
      beliefs_.log_confusion = {};
    }
    reserve_targets(result.targets);
    for (std::size_t i = 0; i < problem_.images(); ++i) {
      append_targets(problem_.image(i), state_[i], options_.min_existence, problem_.size_known[i] != 0, result.targets);
      state_[i] = ImageState{};
      if (i % kImagesPerTrim == kImagesPerTrim - 1) return_free_memory();  // the targets are growing meanwhile
    }
    if (result.targets.begin.empty()) result.targets.begin.push_back(0);
    result.beliefs = std::move(beliefs_);
  }

  AbsenceAwareOptions options_;
  AbsenceAwareBeliefs beliefs_;
  Problem problem_;
  AbsenceAwareEvidence prior_;  ///< with the columns of beliefs_
  bool has_prior_ = false;
  std::vector<ImageState> state_;
  std::array<double, 2> power_step_{0.25, 0.25};
  double tail_step_ = 0.7;
};

}  // namespace
}  // namespace absence_aware

AbsenceAwareResult run_absence_aware(const CrowdData& crowd, const Predictions* predictions,
                                     const AbsenceAwareOptions& options) {
  return absence_aware::Fit(crowd, predictions, options).run();
}

}  // namespace bdc
