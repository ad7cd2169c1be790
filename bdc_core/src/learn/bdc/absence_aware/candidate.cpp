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
/// Confusion columns of a large crowd are fetched from memory so many items ahead.
constexpr std::size_t kAhead = 4;
/// Even boxes of one voice must agree a little to be put together.
constexpr double kLeastVoices = 0.05;
/// Class probabilities below this are set to 0: the bound loses less than J times this per candidate.
constexpr double kSmallestProbability = 1e-10;

/// exp(x) adds nothing to 1 below this, and below minus the other nothing to a bound.
constexpr double kNegligible = -40, kNegligibleSum = 60;

/// Geometric mean of the two values in the middle. Changes their order.
double median_of(std::vector<double>& values) {
  const std::size_t n = values.size();
  const auto upper = values.begin() + static_cast<std::ptrdiff_t>(n / 2);
  std::nth_element(values.begin(), upper, values.end());
  return std::sqrt((n % 2 == 1 ? *upper : *std::max_element(values.begin(), upper)) * *upper);
}

}  // namespace

double log_all_miss(const AbsenceAwareBeliefs& beliefs, const ImageItems& image) {
  double sum = 0;
  for (std::size_t n = 0; n < image.seen_by.size(); ++n) {
    sum += image.weight_of_look(n) * beliefs.source[static_cast<std::size_t>(image.seen_by[n])].log_miss;
  }
  return sum;
}

double log_sum(double a, double b) {
  const double less = std::abs(a - b);
  return less > kNegligibleSum ? std::max(a, b) : std::max(a, b) + std::log1p(std::exp(-less));
}

CandidateModel::CandidateModel(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state)
    : beliefs_(beliefs), image_(image), state_(state), tail_(beliefs.priors.tail) {
  log_all_miss_ = absence_aware::log_all_miss(beliefs, image);
  log_classes_ = std::log(static_cast<double>(beliefs.classes));
  nearest_ = -2 * (tail_.tail + 1) * std::log(tail_.tail / 2);
  log_place_ = -std::log(image.width * image.height * kLogSizeRange * kLogSizeRange);
  const std::size_t J = beliefs.classes;
  std::size_t numbers = 0;
  for (std::size_t n = 0; n < image.items.size(); ++n) {
    const ClassSet classes = state.classes_of_item(n, J);
    if (!classes.is_all() || image.items[n].class_probs != nullptr) numbers += classes.size();
  }
  rows_.assign(numbers, 0.0);
  log_class_.reserve(image.items.size());
  terms_.reserve(image.items.size());
  double* row = rows_.data();
  for (std::size_t n = 0; n < image.items.size(); ++n) {
    if (n + kAhead < image.items.size()) fetch_terms(n + kAhead);
    const Item& item = image.items[n];
    add_item_terms(item);
    const ClassSet classes = state.classes_of_item(n, J);
    if (item.class_probs == nullptr) {
      const double* column = beliefs.log_confusion.value.data() + item.column * J;
      log_class_.push_back(classes.is_all() ? column : row);
      if (classes.is_all()) continue;
      for (std::size_t u = 0; u < classes.size(); ++u) row[u] = column[classes[u]];
    } else {
      const std::size_t first = beliefs.log_confusion.begin[static_cast<std::size_t>(item.source)];
      for (std::size_t l = 0; l < J; ++l) {
        if (item.class_probs[l] < kSmallestShare) continue;
        const double* column = beliefs.log_confusion.value.data() + (first + l) * J;
        for (std::size_t u = 0; u < classes.size(); ++u) row[u] += item.class_probs[l] * column[classes[u]];
      }
      log_class_.push_back(row);
    }
    row += classes.size();
  }
}

void CandidateModel::fetch_terms(std::size_t n) const {
  const Item& item = image_.items[n];
  const ClassSet classes = state_.classes_of_item(n, beliefs_.classes);
  if (item.class_probs != nullptr || classes.is_all()) return;
  const double* column = beliefs_.log_confusion.value.data() + item.column * beliefs_.classes;
  for (std::size_t u = 0; u < classes.size(); ++u) __builtin_prefetch(column + classes[u]);
}

void CandidateModel::add_item_terms(const Item& item) {
  const SourceBelief& s = beliefs_.source[static_cast<std::size_t>(item.source)];
  const double w = item.weight;
  ItemTerms t{0, -w * log_classes_, 4 * tail_.constant + s.log_edges, log_place_ - item.log_area};
  if (!image_.lone) {
    t.real += w * (s.log_recall - s.log_miss);
    t.spurious += w * s.log_spurious;
    if (item.level >= 0) {
      t.real += w * beliefs_.log_real_level[static_cast<std::size_t>(item.level)];
      t.spurious += w * beliefs_.log_spurious_level[static_cast<std::size_t>(item.level)];
    }
  }
  terms_.push_back(t);
}

Members CandidateModel::members_of(const Candidate& c) const {
  return {c.members, image_.items.data(), beliefs_.source.data()};
}

double CandidateModel::bound_alone(std::int32_t n) {
  if (image_.lone || image_.view) {
    Candidate c;
    c.members = {n};
    solve(c);
    return c.bound;
  }
  // As evaluate() has it: the box of a candidate of one item, and its label, say nothing.
  const ItemTerms& own = terms_[static_cast<std::size_t>(n)];
  double real = log_object_ + log_all_miss_ + own.real + own.place;
  real += -image_.items[static_cast<std::size_t>(n)].weight * log_classes_;
  return log_sum(real, own.spurious + own.place);
}

void CandidateModel::solve(Candidate& c, bool outputs) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    scratch_.clear();
    for (const std::int32_t n : c.members) {
      const Item& item = image_.items[static_cast<std::size_t>(n)];
      scratch_.push_back(item.edge[axis + 2] - item.edge[axis]);
    }
    c.size[axis] = median_of(scratch_);
  }
  set_noise_scale(beliefs_.priors, c);
  const Members members = members_of(c);
  update_edges(members, tail_.tail, false, c);
  for (int step = 0; step < kSolveSteps; ++step) update_edges(members, tail_.tail, true, c);
  evaluate(c, outputs);
}

void CandidateModel::refine(Candidate& c, int steps) {
  for (int step = 0; step < steps; ++step) update_edges(members_of(c), tail_.tail, true, c);
  evaluate(c, true);
}

// Members who err alike agree in place without proving much. That m boxes lie where one object would put them, against
// lying anywhere, weighs location = (real place) - (spurious place). It counts by the members' independent voices
// beyond the first, voices = (sum of their weights - 1) / (m - 1), and in full when all weights are 1. The box itself
// is the same mean either way.
void CandidateModel::set_voices(Candidate& c) const {
  c.voices = 1;
  if (image_.look_weight.size() == 0 || c.members.size() < 2) return;
  double sum = 0;
  for (const std::int32_t n : c.members) sum += image_.items[static_cast<std::size_t>(n)].weight;
  c.voices = std::clamp((sum - 1) / static_cast<double>(c.members.size() - 1), kLeastVoices, 1.0);
}

void CandidateModel::sum_log_classes(const Candidate& c, const ClassSet& classes) {
  const std::size_t J = classes.size();
  log_class_sum_.resize(J);
  for (std::size_t u = 0; u < J; ++u) log_class_sum_[u] = beliefs_.log_class[classes[u]];
  for (const std::int32_t n : c.members) {
    add_to(log_class_sum_.data(), log_class_[static_cast<std::size_t>(n)], J,
           image_.items[static_cast<std::size_t>(n)].weight);
  }
}

void CandidateModel::evaluate(Candidate& c, bool outputs) {
  // Logarithm of the joint weight of "is an object" (real) and "every member is spurious".
  set_voices(c);
  double real = image_.lone ? 0.0 : log_object_ + log_all_miss_;
  if (!image_.lone && out_of_view(beliefs_, image_, c)) {  // that the detector did not find it says nothing
    real -= image_.weight_of_look(image_.seen_by.size() - 1) * beliefs_.source.back().log_miss;
  }
  // In a lone image nothing is known of existence; ImageState::occupied says it.
  double spurious = image_.lone ? -std::numeric_limits<double>::infinity() : 0.0;
  double edges = 0, anywhere = 0;
  for (const std::int32_t n : c.members) {
    const ItemTerms& own = terms_[static_cast<std::size_t>(n)];
    real += own.real;
    spurious += own.spurious;
    edges += own.edges;
    anywhere += own.place;
  }
  if (c.members.size() == 1) {
    // The object of a box alone may be anywhere around it: integrated out, the place of the box is as probable as that
    // of a spurious one, whatever the errors of its source.
    real += anywhere;
  } else {
    const double area = c.size[0] * c.size[1], spread = c.variance[0] * c.variance[1] * c.variance[2] * c.variance[3];
    double location = log_place_ + 2 * kLogTwoPiE + 0.5 * std::log(spread / (area * area)) + edges;
    location -= 2 * static_cast<double>(c.members.size()) * c.log_scales;
    const std::array<double, 2> tails = log_tails(members_of(c), tail_.tail, c, c.scale);
    location -= (tail_.tail + 1) / 2 * (tails[0] + tails[1]);
    real += anywhere + c.voices * (location - anywhere);
  }
  spurious += anywhere;
  const bool tells = tells_of_classes(c, image_);
  const ClassSet classes = state_.classes_of(c, beliefs_.classes);
  const std::size_t J = classes.size();
  double sum = 0;
  if (tells || outputs) {
    sum_log_classes(c, classes);
    const double top = *std::max_element(log_class_sum_.begin(), log_class_sum_.end());
    for (double& x : log_class_sum_) {
      x = x - top > kNegligible ? std::exp(x - top) : 0.0;
      sum += x;
    }
    if (tells) real += top + std::log(sum);
  }
  // A label that no other stands beside would confirm itself: it counts as that of a spurious box does.
  if (!tells) real += -image_.items[static_cast<std::size_t>(c.members.front())].weight * log_classes_;
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
  const ItemTerms& own = terms_[static_cast<std::size_t>(n)];
  const EdgeChange edges = join_edges(item, beliefs_.source[static_cast<std::size_t>(item.source)], tail_.tail, c);
  CandidateGain gain{own.edges - 2 * c.log_scales - edges.divergence, own.spurious + own.place};
  gain.real += 0.5 * std::log(edges.spread) - (tail_.tail + 1) / 2 * std::log(edges.tails);
  // An estimate: the share that counts is taken as the item's own weight.
  gain.real = own.real + own.place + item.weight * (gain.real - own.place);
  gain.real += std::log(std::max(expected_class(c, n, item.weight), 1e-300));
  return gain;
}

CandidateGain CandidateModel::most_joining(const Candidate& c, std::int32_t n) const {
  const double weight = image_.items[static_cast<std::size_t>(n)].weight;
  const ItemTerms& own = terms_[static_cast<std::size_t>(n)];
  const double location = own.edges - 2 * c.log_scales + nearest_;
  return {own.real + own.place + weight * (location - own.place), own.spurious + own.place};
}

CandidateGain CandidateModel::leaving(const Candidate& c, std::int32_t n) const {
  const Item& item = image_.items[static_cast<std::size_t>(n)];
  const ItemTerms& own = terms_[static_cast<std::size_t>(n)];
  const EdgeChange edges = leave_edges(item, beliefs_.source[static_cast<std::size_t>(item.source)], tail_.tail, c);
  CandidateGain gain{-own.edges + 2 * c.log_scales + edges.divergence, -own.spurious - own.place};
  gain.real += 0.5 * std::log(edges.spread) + (tail_.tail + 1) / 2 * std::log(edges.tails);
  gain.real = -own.real - own.place + item.weight * (gain.real + own.place);
  gain.real += std::log(expected_class(c, n, -item.weight));
  return gain;
}

double CandidateModel::expected_class(const Candidate& c, std::int32_t n, double weight) const {
  const double* terms = log_class_[static_cast<std::size_t>(n)];
  double expected = 0;
  for (std::size_t j = 0; j < c.class_probs.size(); ++j) {
    if (c.class_probs[j] > kSmallestShare)
      expected += static_cast<double>(c.class_probs[j]) * std::exp(weight * terms[j]);
  }
  return expected;
}

}  // namespace bdc::absence_aware
