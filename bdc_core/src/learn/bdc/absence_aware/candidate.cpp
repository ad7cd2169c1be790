#include "learn/bdc/absence_aware/candidate.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// exp(x) adds nothing to 1 below this.
constexpr double kNegligible = -40;
/// The logarithm of a product of many factors >= 0.5, with few calls of log.
class LogProduct {
 public:
  void multiply(double factor) {
    product_ *= std::min(factor, kLargest);
    if (product_ > kLargest || product_ < 1 / kLargest) flush();
  }
  double log() {
    flush();
    return sum_;
  }

 private:
  static constexpr double kLargest = 1e100;
  void flush() {
    sum_ += std::log(product_);
    product_ = 1;
  }
  double product_ = 1, sum_ = 0;
};

double median_of(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return std::sqrt(values[(n - 1) / 2] * values[n / 2]);
}

}  // namespace

double log_sum(double a, double b) {
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

CandidateModel::CandidateModel(const AbsenceAwareBeliefs& beliefs, const ImageItems& image)
    : beliefs_(beliefs), image_(image), tail_(beliefs.priors.tail), log_class_sum_(beliefs.classes) {
  for (const std::int32_t k : image.seen_by) log_all_miss_ += beliefs.source[static_cast<std::size_t>(k)].log_miss;
  log_place_ = -std::log(image.width * image.height * kLogSizeRange * kLogSizeRange);
  const std::size_t J = beliefs.classes;
  std::size_t predictions = 0;
  for (const Item& item : image.items) predictions += item.class_probs != nullptr ? 1 : 0;
  prediction_terms_.assign(predictions * J, 0.0);
  log_class_.reserve(image.items.size());
  terms_.reserve(image.items.size());
  std::size_t next = 0;
  for (const Item& item : image.items) {
    add_item_terms(item);
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

void CandidateModel::add_item_terms(const Item& item) {
  const SourceBelief& s = beliefs_.source[static_cast<std::size_t>(item.source)];
  ItemTerms t{4 * tail_.constant, log_place_ - std::log((item.edge[2] - item.edge[0]) * (item.edge[3] - item.edge[1])) -
                                      std::log(static_cast<double>(beliefs_.classes))};
  for (const double log_precision : s.log_precision) t.real += 0.5 * (log_precision - kLogTwoPi);
  if (!image_.lone) {
    t.real += s.log_recall - s.log_miss;
    t.spurious += s.log_spurious;
    if (item.level >= 0) {
      t.real += beliefs_.log_real_level[static_cast<std::size_t>(item.level)];
      t.spurious += beliefs_.log_spurious_level[static_cast<std::size_t>(item.level)];
    }
  }
  terms_.push_back(t);
}

void CandidateModel::set_scale(Candidate& c) const {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    c.scale[axis] = noise_scale(c.size[axis], beliefs_.priors.reference_size[axis], beliefs_.priors.size_power[axis]);
  }
}

void CandidateModel::update_box(Candidate& c, bool reweight) const {
  std::array<double, 4> precision{}, weighted{};
  const std::array<double, 2> shrink{1 / (c.scale[0] * c.scale[0]), 1 / (c.scale[1] * c.scale[1])};
  for (const std::int32_t n : c.members) {
    const Item& item = image_.items[static_cast<std::size_t>(n)];
    const SourceBelief& s = beliefs_.source[static_cast<std::size_t>(item.source)];
    for (std::size_t e = 0; e < 4; ++e) {
      const double scale = c.scale[e & 1U];
      double w = s.precision[e] * shrink[e & 1U];
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
  evaluate(c, true);
}

void CandidateModel::evaluate(Candidate& c, bool outputs) {
  // Logarithm of the joint weight of "is an object" (real) and "every member is spurious".
  double real = (image_.lone ? 0.0 : log_object_ + log_all_miss_) + log_place_ - std::log(c.size[0] * c.size[1]);
  // In a lone image nothing is known of existence; ImageState::occupied says it.
  double spurious = image_.lone ? -std::numeric_limits<double>::infinity() : 0.0;
  for (std::size_t e = 0; e < 4; ++e) real += 0.5 * (kLogTwoPiE + std::log(c.variance[e]));
  const std::size_t J = beliefs_.classes;
  std::copy(beliefs_.log_class.begin(), beliefs_.log_class.end(), log_class_sum_.begin());
  LogProduct tails;
  for (const std::int32_t n : c.members) {
    const Item& item = image_.items[static_cast<std::size_t>(n)];
    const SourceBelief& s = beliefs_.source[static_cast<std::size_t>(item.source)];
    for (std::size_t e = 0; e < 4; ++e) {
      const double d = expected_square(s, e, item.edge[e], c.mean[e], c.variance[e], c.scale[e & 1U]);
      tails.multiply((tail_.tail + d) / 2);
    }
    const ItemTerms& own = terms_[static_cast<std::size_t>(n)];
    real += own.real;
    spurious += own.spurious;
    const double* terms = log_class_[static_cast<std::size_t>(n)];
    for (std::size_t j = 0; j < J; ++j) log_class_sum_[j] += terms[j];
  }
  real -= 2 * static_cast<double>(c.members.size()) * std::log(c.scale[0] * c.scale[1]);
  real -= (tail_.tail + 1) / 2 * tails.log();
  const double top = *std::max_element(log_class_sum_.begin(), log_class_sum_.end());
  double sum = 0;
  for (double& x : log_class_sum_) {
    x = x - top > kNegligible ? std::exp(x - top) : 0.0;
    sum += x;
  }
  real += top + std::log(sum);
  c.real = real;
  c.spurious = spurious;
  c.bound = log_sum(real, spurious);
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

// Both estimates move the box posterior from N(m, v) to N(m', v'). The other members' part of the bound, a Gaussian in
// the box for fixed outlier weights, and the entropy change together by -KL(N(m', v') || N(m, v)) when an item joins.
CandidateGain CandidateModel::joining(const Candidate& c, std::int32_t n) const {
  const Item& item = image_.items[static_cast<std::size_t>(n)];
  const SourceBelief& s = beliefs_.source[static_cast<std::size_t>(item.source)];
  const ItemTerms& own = terms_[static_cast<std::size_t>(n)];
  CandidateGain gain{own.real - 2 * std::log(c.scale[0] * c.scale[1]), own.spurious};
  double tails = 1, spread = 1;
  for (std::size_t e = 0; e < 4; ++e) {
    const double scale = c.scale[e & 1U], v = c.variance[e];
    const double far = expected_square(s, e, item.edge[e], c.mean[e], v, scale);
    const double w = s.precision[e] / (scale * scale) * outlier_weight(tail_.tail, far);
    const double narrowed = 1 / (1 + v * w);  // v' / v
    const double step = v * w * narrowed * (item.edge[e] - scale * s.bias[e] - c.mean[e]);
    const double d = expected_square(s, e, item.edge[e], c.mean[e] + step, v * narrowed, scale);
    tails *= (tail_.tail + d) / 2;
    spread *= narrowed;
    gain.real -= 0.5 * (step * step / v + narrowed - 1);
  }
  gain.real += 0.5 * std::log(spread) - (tail_.tail + 1) / 2 * std::log(tails);
  const double* terms = log_class_[static_cast<std::size_t>(n)];
  double agree = 0;
  for (std::size_t j = 0; j < c.class_probs.size(); ++j) {
    if (c.class_probs[j] > kSmallestShare) agree += static_cast<double>(c.class_probs[j]) * std::exp(terms[j]);
  }
  gain.real += std::log(std::max(agree, 1e-300));
  return gain;
}

CandidateGain CandidateModel::leaving(const Candidate& c, std::int32_t n) const {
  const Item& item = image_.items[static_cast<std::size_t>(n)];
  const SourceBelief& s = beliefs_.source[static_cast<std::size_t>(item.source)];
  const ItemTerms& own = terms_[static_cast<std::size_t>(n)];
  CandidateGain gain{-own.real + 2 * std::log(c.scale[0] * c.scale[1]), -own.spurious};
  double tails = 1, spread = 1;
  for (std::size_t e = 0; e < 4; ++e) {
    const double scale = c.scale[e & 1U], v = c.variance[e];
    const double d = expected_square(s, e, item.edge[e], c.mean[e], v, scale);
    const double w = s.precision[e] / (scale * scale) * outlier_weight(tail_.tail, d);
    const double widened = 1 / std::max(1e-3, 1 - v * w);  // v' / v
    const double step = v * w * widened * (item.edge[e] - scale * s.bias[e] - c.mean[e]);
    tails *= (tail_.tail + d) / 2;
    spread *= widened;
    gain.real += 0.5 * (step * step / (v * widened) + 1 / widened - 1);
  }
  gain.real += 0.5 * std::log(spread) + (tail_.tail + 1) / 2 * std::log(tails);
  const double* terms = log_class_[static_cast<std::size_t>(n)];
  double without = 0;
  for (std::size_t j = 0; j < c.class_probs.size(); ++j) {
    if (c.class_probs[j] > kSmallestShare) without += static_cast<double>(c.class_probs[j]) * std::exp(-terms[j]);
  }
  gain.real += std::log(without);
  return gain;
}

}  // namespace bdc::absence_aware
