#include "learn/bdc/absence_aware/object_rate.h"

#include "bdc/base/special_functions.h"
#include "learn/bdc/absence_aware/line_search.h"

namespace bdc::absence_aware {
namespace {

constexpr double kLeastShape = 0.02, kMostShape = 100, kLeastMean = 1e-3, kMostMean = 1e4;
constexpr double kShapeRate = 0.1, kMeanRate = 0.1;

/// Climbs value(shape, rate) in the shape and in the mean.
template <class Value>
void climb(const Value& value, AbsenceAwarePriors& p) {
  double shape = p.object_shape, mean = shape / p.object_rate;
  const auto score = [&](double a, double m) { return value(a, a / m) - kShapeRate * a - kMeanRate * m; };
  raise(mean, kLeastMean, kMostMean, [&](double x) { return score(shape, x); });
  raise(shape, kLeastShape, kMostShape, [&](double x) { return score(x, mean); });
  p.object_shape = shape;
  p.object_rate = shape / mean;
}

}  // namespace

double ObjectRate::bound(double pivot) const {
  return a_ * std::log(b_ / seen_) - log_gamma(a_) + log_gamma(a_ + pivot) - pivot * std::log(a_ + pivot);
}

double ObjectRate::mean_log(double drawn) const {
  const double low = std::floor(drawn), psi = digamma(a_ + low);
  return psi + (drawn - low) / (a_ + low) - std::log(seen_);  // psi(x + 1) = psi(x) + 1/x
}

void fit_object_rates(const std::vector<DrawnObjects>& images, AbsenceAwarePriors& priors) {
  if (images.empty()) return;
  climb(
      [&](double a, double b) {
        AbsenceAwarePriors trial;
        trial.object_shape = a;
        trial.object_rate = b;
        double sum = 0;
        for (const DrawnObjects& i : images) {
          const ObjectRate rate(trial, i.log_all_miss);
          sum += rate.bound(i.pivot) + i.expected * rate.log_weight(i.pivot);
        }
        return sum;
      },
      priors);
}

void fit_object_rates(const AbsenceAwareEvidence& evidence, AbsenceAwarePriors& priors) {
  if (!(evidence.images > 0)) return;
  climb(
      [&](double a, double b) {
        return evidence.images * (a * std::log(b) - log_gamma(a)) + (a - 1) * evidence.log_objects -
               b * evidence.objects;
      },
      priors);
}

double log_object_hyperprior(const AbsenceAwarePriors& p) {
  return -kShapeRate * p.object_shape - kMeanRate * p.object_shape / p.object_rate;
}

}  // namespace bdc::absence_aware
