#include "learn/bdc/absence_aware/object_rate.h"

#include <algorithm>
#include <cmath>

namespace bdc::absence_aware {
namespace {

constexpr double kLeastRate = 0.03, kRateStep = 1.2;
/// Images added to every rate: a Dirichlet(1 + this) prior.
constexpr double kPriorImages = 0.1;

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

const std::array<double, kObjectRates>& object_rates() {
  return rates().value;
}

ObjectRate::ObjectRate(const AbsenceAwarePriors& priors, double log_all_miss) : miss_(std::exp(log_all_miss)) {
  const double seen = -std::expm1(log_all_miss);
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    log_share_[m] = std::log(priors.object_share[m]) - rates().value[m] * seen;
  }
}

double ObjectRate::log_total(double count) const {
  std::array<double, kObjectRates> term;
  for (std::size_t m = 0; m < kObjectRates; ++m) term[m] = log_share_[m] + count * rates().log[m];
  const double top = *std::max_element(term.begin(), term.end());
  double sum = 0;
  for (const double t : term) sum += t - top > -40 ? std::exp(t - top) : 0.0;
  return top + std::log(sum);
}

std::array<double, kObjectRates> ObjectRate::posterior(double drawn) const {
  const double low = std::floor(drawn);
  std::array<double, kObjectRates> out{};
  const double at_low = log_total(low), at_high = log_total(low + 1);
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    const double term = log_share_[m] + low * rates().log[m];
    out[m] = (1 - (drawn - low)) * std::exp(term - at_low) + (drawn - low) * std::exp(term + rates().log[m] - at_high);
  }
  return out;
}

double ObjectRate::undetected(double drawn) const {
  const auto share = posterior(drawn);
  double mean = 0;
  for (std::size_t m = 0; m < kObjectRates; ++m) mean += share[m] * rates().value[m];
  return miss_ * mean;
}

void set_object_rates(const std::array<double, kObjectRates>& images, AbsenceAwarePriors& priors) {
  double total = 0;
  for (const double n : images) total += n + kPriorImages;
  for (std::size_t m = 0; m < kObjectRates; ++m) priors.object_share[m] = (images[m] + kPriorImages) / total;
}

double log_object_hyperprior(const AbsenceAwarePriors& p) {
  double sum = 0;
  for (const double share : p.object_share) sum += kPriorImages * std::log(share);
  return sum;
}

}  // namespace bdc::absence_aware
