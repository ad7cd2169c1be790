#include "bdc/learn/plan/place.h"

#include <algorithm>
#include <cmath>

namespace bdc {
namespace {

/// Outcomes less probable than this share of a place are not followed further.
constexpr double kRare = 0.01;

/// Spread of the mean of two boxes.
double joined_spread(double one, double other) {
  return one > 0 && other > 0 ? 1 / std::sqrt(1 / (one * one) + 1 / (other * other)) : 0;
}

}  // namespace

struct Place::Calls {
  std::array<std::array<double, kClasses>, kClasses> named{};  ///< [true][called]
  std::array<double, kClasses> elsewhere{};                    ///< [true]: called by none of the classes told apart
  double wrong = 0;                                            ///< a further class called one that is told apart
  double accuracy = 1, recall = 1, spread = 0;
};

double Place::Branch::object() const {
  double sum = other;
  for (const double q : of_class) sum += q;
  return sum;
}

double Place::Branch::all() const {
  return absent + object();
}

Place::Place(const Targets& targets, std::size_t n) : classes_(static_cast<std::size_t>(targets.num_classes)) {
  Branch b;
  const double exists = existence_of(targets, n);
  b.absent = 1 - exists;
  b.spread = box_spread(targets, n);
  named_ = std::min(kClasses, classes_);
  std::array<double, kClasses> top{};
  std::size_t found = 0;
  double rest = 1;
  for (std::size_t j = 0; j < classes_; ++j) {  // the most probable first, of equal ones the first
    const double p = targets.class_prob(n, j);
    std::size_t at = found;
    while (at > 0 && p > top[at - 1]) --at;
    if (at >= named_) {
      b.top_other = std::max(b.top_other, p);
      continue;
    }
    if (found == named_) b.top_other = std::max(b.top_other, top[named_ - 1]);
    found = std::min(found + 1, named_);
    for (std::size_t m = found - 1; m > at; --m) {
      top[m] = top[m - 1];
      class_[m] = class_[m - 1];
    }
    top[at] = p;
    class_[at] = j;
  }
  for (std::size_t m = 0; m < named_; ++m) {
    b.of_class[m] = exists * top[m];
    rest -= top[m];
  }
  b.other = classes_ > named_ ? exists * std::max(0.0, rest) : 0.0;
  b.top_other = std::min(b.other, exists * b.top_other);
  branches_.push_back(b);
}

Place::Place(double unseen, const Looker& looker, std::size_t classes) : classes_(classes) {
  Branch b;
  b.absent = looker.spurious;
  const double found = unseen * looker.recall, right = classes > 1 ? looker.accuracy : 1.0;
  b.of_class[0] = found * right;
  b.other = found * (1 - right);
  b.top_other = classes > 1 ? b.other / static_cast<double>(classes - 1) : 0.0;
  b.spread = 4 * looker.box_noise;
  named_ = 1;
  class_[0] = classes;  // whichever class was drawn
  branches_.push_back(b);
}

double Place::worth_of(const Branch& branch) {
  const double all = branch.all();
  if (!(all > 0)) return 0;
  double best = branch.top_other;
  for (const double q : branch.of_class) best = std::max(best, q);
  return all * label_worth(best / all * expected_box_share(branch.spread));
}

Place::Calls Place::calls_of(const Looker& looker) const {
  Calls out;
  out.recall = looker.recall;
  out.spread = 4 * looker.box_noise;
  out.accuracy = classes_ > 1 ? looker.accuracy : 1.0;
  out.wrong = classes_ > 1 ? (1 - out.accuracy) / static_cast<double>(classes_ - 1) : 0.0;
  for (std::size_t j = 0; j < named_; ++j) {
    double rest = 1;
    for (std::size_t l = 0; l < named_; ++l) {
      const bool known = class_[j] < classes_ && class_[l] < classes_;
      const double p = known ? looker.says(class_[j], class_[l], classes_) : j == l ? out.accuracy : out.wrong;
      out.named[j][l] = p;
      rest -= p;
    }
    out.elsewhere[j] = classes_ > named_ ? std::max(0.0, rest) : 0.0;
  }
  return out;
}

template <class Take>
void Place::outcomes(const Branch& b, const Calls& calls, double spurious, const Take& take) const {
  const double further = static_cast<double>(classes_ - named_), classes = static_cast<double>(classes_);
  Branch next = b;  // not drawn
  next.absent = b.absent * (1 - spurious);
  for (std::size_t j = 0; j < named_; ++j) next.of_class[j] = b.of_class[j] * (1 - calls.recall);
  next.other = b.other * (1 - calls.recall);
  next.top_other = b.top_other * (1 - calls.recall);
  take(next);
  next.spread = joined_spread(b.spread, calls.spread);
  for (std::size_t l = 0; l < named_; ++l) {
    next.absent = b.absent * spurious / classes;
    for (std::size_t j = 0; j < named_; ++j) next.of_class[j] = b.of_class[j] * calls.recall * calls.named[j][l];
    next.other = b.other * calls.recall * calls.wrong;
    next.top_other = b.top_other * calls.recall * calls.wrong;
    take(next);
  }
  if (classes_ == named_) return;
  // Called one of the further classes: all of them at once, as the worth of each is the same share of the whole.
  next.absent = b.absent * spurious * further / classes;
  for (std::size_t j = 0; j < named_; ++j) next.of_class[j] = b.of_class[j] * calls.recall * calls.elsewhere[j];
  next.other = b.other * calls.recall * std::max(0.0, 1 - static_cast<double>(named_) * calls.wrong);
  next.top_other = b.other * calls.recall * calls.accuracy;
  take(next);
}

double Place::worth() const {
  double sum = 0;
  for (const Branch& b : branches_) sum += worth_of(b);
  return sum;
}

double Place::gain(const Looker& looker, double spurious) const {
  const Calls calls = calls_of(looker);
  double sum = 0;
  for (const Branch& b : branches_) {
    sum -= worth_of(b);
    outcomes(b, calls, spurious, [&](const Branch& next) { sum += worth_of(next); });
  }
  return std::max(0.0, sum);
}

void Place::look(const Looker& looker, double spurious) {
  const Calls calls = calls_of(looker);
  double all = 0;
  for (const Branch& b : branches_) all += b.all();
  std::vector<Branch> next;
  for (const Branch& b : branches_) {
    if (b.all() < kRare * all) {
      next.push_back(b);
    } else {
      outcomes(b, calls, spurious, [&](const Branch& one) { next.push_back(one); });
    }
  }
  branches_ = std::move(next);
}

}  // namespace bdc
