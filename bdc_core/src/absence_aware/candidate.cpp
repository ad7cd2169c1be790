#include "absence_aware/candidate.h"

#include <algorithm>
#include <cmath>

namespace bdc::absence_aware {
namespace {

constexpr double kLogTwoPiE = 2.8378770664093454836;
/// Range of the logarithm of a width or height; centre uniform in the image, log-size uniform in a range this long.
constexpr double kLogSizeRange = 5.0;
constexpr int kSolveSteps = 4;
/// Class probabilities below this are set to 0: the bound loses less than J times this per candidate.
constexpr double kSmallestProbability = 1e-10;
/// Shares of a prediction's class vector below this are left out, here and in the evidence.
constexpr double kSmallestShare = 1e-6;

double median_of(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return std::sqrt(values[(n - 1) / 2] * values[n / 2]);
}

}  // namespace

CandidateModel::CandidateModel(const AbsenceAwareBeliefs& beliefs, const ImageItems& image)
    : beliefs_(beliefs), image_(image), tail_(beliefs.priors.tail), log_class_sum_(beliefs.classes) {
  for (const std::int32_t k : image.seen_by) log_all_miss_ += beliefs.source[static_cast<std::size_t>(k)].log_miss;
  log_place_ = -std::log(image.width * image.height * kLogSizeRange * kLogSizeRange);
  const std::size_t J = beliefs.classes;
  std::size_t predictions = 0;
  for (const Item& item : image.items) predictions += item.class_probs != nullptr ? 1 : 0;
  prediction_terms_.assign(predictions * J, 0.0);
  log_class_.reserve(image.items.size());
  std::size_t next = 0;
  for (const Item& item : image.items) {
    if (item.class_probs == nullptr) {
      log_class_.push_back(beliefs.log_confusion.value.data() + item.column * J);
      continue;
    }
    double* terms = prediction_terms_.data() + J * next++;
    const std::size_t first = beliefs.log_confusion.begin[static_cast<std::size_t>(item.source)];
    for (std::size_t l = 0; l < J; ++l) {
      if (item.class_probs[l] < kSmallestShare) continue;
      const double* column = beliefs.log_confusion.value.data() + (first + l) * J;
      for (std::size_t j = 0; j < J; ++j) terms[j] += item.class_probs[l] * column[j];
    }
    log_class_.push_back(terms);
  }
}

void CandidateModel::set_scale(Candidate& c) const {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    c.scale[axis] = noise_scale(c.size[axis], beliefs_.priors.reference_size[axis], beliefs_.priors.size_power[axis]);
  }
}

void CandidateModel::update_box(Candidate& c, bool reweight) const {
  std::array<double, 4> precision{}, weighted{};
  for (const std::int32_t n : c.members) {
    const Item& item = image_.items[static_cast<std::size_t>(n)];
    const SourceBelief& s = beliefs_.source[static_cast<std::size_t>(item.source)];
    for (std::size_t e = 0; e < 4; ++e) {
      const double scale = c.scale[e & 1U];
      double w = s.precision[e] / (scale * scale);
      if (reweight) {
        w *= outlier_weight(tail_.tail, expected_square(s, e, item.edge[e], c.mean[e], c.variance[e], scale));
      }
      precision[e] += w;
      weighted[e] += w * (item.edge[e] - scale * s.bias[e]);
    }
  }
  for (std::size_t e = 0; e < 4; ++e) {
    c.mean[e] = weighted[e] / precision[e];
    c.variance[e] = 1 / precision[e];
  }
}

void CandidateModel::solve(Candidate& c) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    scratch_.clear();
    for (const std::int32_t n : c.members) {
      const Item& item = image_.items[static_cast<std::size_t>(n)];
      scratch_.push_back(item.edge[axis + 2] - item.edge[axis]);
    }
    c.size[axis] = median_of(scratch_);
  }
  set_scale(c);
  update_box(c, false);
  for (int step = 0; step < kSolveSteps; ++step) update_box(c, true);
  evaluate(c, false);
}

void CandidateModel::refine(Candidate& c, int steps) {
  set_scale(c);
  for (int step = 0; step < steps; ++step) update_box(c, true);
  evaluate(c, false);
}

void CandidateModel::evaluate(Candidate& c, bool outputs) {
  // Logarithm of the joint weight of "is an object" (real) and "every member is spurious".
  double real = (image_.lone ? std::log(kLoneBoxIsReal) : beliefs_.log_rate + log_all_miss_) + log_place_ -
                std::log(c.size[0] * c.size[1]);
  double spurious = image_.lone ? std::log(1 - kLoneBoxIsReal) : 0.0;
  const std::array<double, 2> log_scale{std::log(c.scale[0]), std::log(c.scale[1])};
  for (std::size_t e = 0; e < 4; ++e) real += 0.5 * (kLogTwoPiE + std::log(c.variance[e]));
  const std::size_t J = beliefs_.classes;
  std::copy(beliefs_.log_class.begin(), beliefs_.log_class.end(), log_class_sum_.begin());
  for (const std::int32_t n : c.members) {
    const Item& item = image_.items[static_cast<std::size_t>(n)];
    const SourceBelief& s = beliefs_.source[static_cast<std::size_t>(item.source)];
    for (std::size_t e = 0; e < 4; ++e) {
      const double d = expected_square(s, e, item.edge[e], c.mean[e], c.variance[e], c.scale[e & 1U]);
      real += edge_evidence(tail_, s.log_precision[e], d, log_scale[e & 1U]);
    }
    spurious += log_place_ - std::log((item.edge[2] - item.edge[0]) * (item.edge[3] - item.edge[1])) -
                std::log(static_cast<double>(J));
    if (!image_.lone) {
      real += s.log_recall - s.log_miss;
      spurious += s.log_spurious;
      if (item.level >= 0) {
        real += beliefs_.log_real_level[static_cast<std::size_t>(item.level)];
        spurious += beliefs_.log_spurious_level[static_cast<std::size_t>(item.level)];
      }
    }
    const double* terms = log_class_[static_cast<std::size_t>(n)];
    for (std::size_t j = 0; j < J; ++j) log_class_sum_[j] += terms[j];
  }
  const double top = *std::max_element(log_class_sum_.begin(), log_class_sum_.end());
  double sum = 0;
  for (double& x : log_class_sum_) {
    x = std::exp(x - top);
    sum += x;
  }
  real += top + std::log(sum);
  const double larger = std::max(real, spurious);
  c.real = real;
  c.bound = larger + std::log1p(std::exp(-std::abs(real - spurious)));
  if (!outputs) return;
  c.existence = 1 / (1 + std::exp(spurious - real));
  c.class_probs.resize(J);
  double kept = 0;
  for (double& x : log_class_sum_) {
    x /= sum;
    if (x < kSmallestProbability) x = 0;
    kept += x;
  }
  for (std::size_t j = 0; j < J; ++j) c.class_probs[j] = static_cast<float>(log_class_sum_[j] / kept);
}

}  // namespace bdc::absence_aware
