#include "learn/bdc/absence_aware/object_rate.h"

#include <algorithm>
#include <cmath>

#include "learn/bdc/absence_aware/candidate.h"
#include "learn/bdc/absence_aware/worklists.h"

namespace bdc::absence_aware {
namespace {

constexpr double kLeastRate = 0.03, kRateStep = 1.2;
/// Images added to every rate: a Dirichlet(1 + this) prior.
constexpr double kPriorImages = 0.1;
/// exp of less adds nothing: shares of rates are at least one in a few million.
constexpr double kNegligible = -60;

struct Rates {
  std::array<double, kObjectRates> value, log;
  Rates() {
    for (std::size_t m = 0; m < kObjectRates; ++m) {
      log[m] = std::log(kLeastRate) + static_cast<double>(m) * std::log(kRateStep);
      value[m] = std::exp(log[m]);
    }
  }
};

const Rates& rates() {
  static const Rates table;
  return table;
}

}  // namespace

ObjectRate::ObjectRate(const AbsenceAwareBeliefs& beliefs, const ImageItems& image)
    : object_share_(beliefs.priors.worklist[worklist_of(beliefs, image)].object_share),
      log_all_miss_(log_all_miss(beliefs, image)),
      miss_(std::exp(log_all_miss_)),
      seen_(-std::expm1(log_all_miss_)),
      drawn_in_(annotator_drew(image)) {
  for (std::size_t m = 0; m < kObjectRates; ++m) constant_[m] = -rates().value[m] * seen_;
  if (!drawn_in_) return;
  double log_miss = 0, spurious = 0;
  for (std::size_t n = 0; n < image.seen_by.size(); ++n) {
    const auto k = static_cast<std::size_t>(image.seen_by[n]);
    if (k >= beliefs.annotators) continue;
    log_miss += image.weight_of_look(n) * beliefs.source[k].log_miss;
    spurious += image.weight_of_look(n) * beliefs.source[k].mean_spurious();
  }
  annotators_miss_ = std::exp(log_miss);
  const double seen = -std::expm1(log_miss);
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    log_hidden_[m] = -rates().value[m] * seen - spurious;
    if (log_hidden_[m] > kNegligible) constant_[m] -= std::log(-std::expm1(log_hidden_[m]));
  }
}

const ObjectRate::Count& ObjectRate::at(double count) const {
  if (last_.count == count) return last_;
  std::array<double, kObjectRates> term;
  for (std::size_t m = 0; m < kObjectRates; ++m) term[m] = count * rates().log[m] + constant_[m];
  const double top = *std::max_element(term.begin(), term.end());
  double sum = 0, next = 0;
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    last_.share[m] = term[m] - top > kNegligible ? object_share_[m] * std::exp(term[m] - top) : 0.0;
    last_.next[m] = last_.share[m] * rates().value[m];
    sum += last_.share[m];
    next += last_.next[m];
  }
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    last_.share[m] /= sum;
    last_.next[m] /= next;
  }
  last_.count = count;
  last_.log_total = top + std::log(sum);
  last_.log_rise = std::log(next / sum);
  return last_;
}

std::array<double, kObjectRates> ObjectRate::posterior(double drawn) const {
  const double low = std::floor(drawn);
  const Count& here = at(low);
  std::array<double, kObjectRates> out{};
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    out[m] = (1 - (drawn - low)) * here.share[m] + (drawn - low) * here.next[m];
  }
  return out;
}

double ObjectRate::undetected(double drawn) const {
  const auto share = posterior(drawn);
  double mean = 0;
  for (std::size_t m = 0; m < kObjectRates; ++m) mean += share[m] * rates().value[m];
  return miss_ * mean;
}

Hidden ObjectRate::hidden(double drawn) const {
  Hidden out;
  if (!drawn_in_) return out;
  const auto share = posterior(drawn);
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    if (!(log_hidden_[m] > kNegligible)) continue;
    const double images = share[m] / std::expm1(-log_hidden_[m]);
    out.images += images;
    out.objects += images * rates().value[m] * annotators_miss_;
  }
  return out;
}

void set_object_rates(const AbsenceAwareEvidence& evidence, AbsenceAwarePriors& priors) {
  for (std::size_t w = 0; w < kWorklists; ++w) {
    const WorklistEvidence& seen = evidence.worklist[w];
    WorklistPriors& kind = priors.worklist[w];
    double total = 0;
    for (const double n : seen.rate_images) total += n + kPriorImages;
    for (std::size_t m = 0; m < kObjectRates; ++m) {
      kind.object_share[m] = (seen.rate_images[m] + kPriorImages) / total;
    }
    kind.blank_share = (seen.blank_images + kPriorImages) / (seen.images + 2 * kPriorImages);
  }
}

double log_object_hyperprior(const AbsenceAwarePriors& p) {
  double sum = 0;
  for (const WorklistPriors& kind : p.worklist) {
    for (const double share : kind.object_share) sum += kPriorImages * std::log(share);
    sum += kPriorImages * (std::log(kind.blank_share) + std::log1p(-kind.blank_share));
  }
  return sum;
}

}  // namespace bdc::absence_aware
