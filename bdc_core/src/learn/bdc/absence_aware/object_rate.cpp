#include "learn/bdc/absence_aware/object_rate.h"

#include <algorithm>
#include <cmath>

#include "base/four.h"
#include "base/wide.h"
#include "learn/bdc/absence_aware/candidate.h"
#include "learn/bdc/absence_aware/worklists.h"

namespace bdc::absence_aware {
namespace {

constexpr double kLeastRate = 0.03, kRateStep = 1.2;
/// Images added to every rate: a Dirichlet(1 + this) prior.
constexpr double kPriorImages = 0.1;
/// exp of less adds nothing: shares of rates are at least one in a few million.
constexpr double kNegligible = -60;
/// Closer to 0 than this, 1 - e^x is not taken as a difference.
constexpr double kTiny = -1e-3;

constexpr std::size_t kRoom = (kObjectRates + 3) / 4 * 4;

struct Rates {
  std::array<double, kObjectRates> value;
  std::array<double, kRoom> log{}, padded{};
  Rates() {
    for (std::size_t m = 0; m < kObjectRates; ++m) {
      log[m] = std::log(kLeastRate) + static_cast<double>(m) * std::log(kRateStep);
      padded[m] = value[m] = std::exp(log[m]);
    }
  }
};

const Rates& rates() {
  static const Rates table;
  return table;
}

/// For x below 0: ln(1 - e^x), and e^x / (1 - e^x). Below kNegligible both are 0.
BDC_WIDE void logs_of_rest(const std::array<double, kRoom>& x, std::array<double, kRoom>& log_rest,
                           std::array<double, kRoom>& odds) {
  const Four least = {kNegligible, kNegligible, kNegligible, kNegligible};
  for (std::size_t m = 0; m < kRoom; m += 4) {
    Four at, e, log_of_rest;
    load(&x[m], at);
    exp_of(at < least ? least : at, e);
    const Four rest = 1 - e, ratio = e / rest;
    log_of(rest, log_of_rest);
    store(log_of_rest, &log_rest[m]);
    store(ratio, &odds[m]);
  }
}

/// share[m] = omega[m] exp(term[m] - top), or 0 where that is negligible, and next[m] = share[m] rate[m]; their sums.
BDC_WIDE std::array<double, 2> weights_of(const std::array<double, kRoom>& omega, const std::array<double, kRoom>& rate,
                                          const std::array<double, kRoom>& term, double top,
                                          std::array<double, kRoom>& share, std::array<double, kRoom>& next) {
  const Four least = {kNegligible, kNegligible, kNegligible, kNegligible}, nothing = {};
  Four sum = {}, sum_next = {};
  for (std::size_t m = 0; m < kRoom; m += 4) {
    Four at, weight, g, e;
    load(&term[m], at);
    load(&omega[m], weight);
    load(&rate[m], g);
    at -= top;
    exp_of(at < least ? least : at, e);
    const Four value = at > least ? weight * e : nothing, value_next = value * g;
    sum += value;
    sum_next += value_next;
    store(value, &share[m]);
    store(value_next, &next[m]);
  }
  return {(sum[0] + sum[1]) + (sum[2] + sum[3]), (sum_next[0] + sum_next[1]) + (sum_next[2] + sum_next[3])};
}

}  // namespace

void ObjectRate::Fixed::fill() {
  const double seen = -std::expm1(all_miss);
  for (std::size_t m = 0; m < kObjectRates; ++m) constant[m] = -rates().value[m] * seen;
  annotators_miss = std::exp(annotators_log_miss);
  if (!drawn_in) return;
  const double annotators_seen = -std::expm1(annotators_log_miss);
  Numbers log_hidden, log_rest;
  for (std::size_t m = 0; m < kRoom; ++m) {
    log_hidden[m] = -rates().padded[m] * annotators_seen - annotators_spurious;
  }
  logs_of_rest(log_hidden, log_rest, hidden_odds);
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    if (!(log_hidden[m] > kNegligible)) {
      hidden_odds[m] = 0;
      continue;
    }
    if (log_hidden[m] > kTiny) {
      log_rest[m] = std::log(-std::expm1(log_hidden[m]));
      hidden_odds[m] = 1 / std::expm1(-log_hidden[m]);
    }
    constant[m] -= log_rest[m];
  }
}

void ObjectRate::Count::fill(double objects, const std::array<double, kObjectRates>& omega, const Fixed& fixed) {
  Numbers term{}, own{};
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    term[m] = objects * rates().log[m] + fixed.constant[m];
    own[m] = omega[m];
  }
  const double top = *std::max_element(term.begin(), term.begin() + kObjectRates);
  for (std::size_t m = kObjectRates; m < kRoom; ++m) term[m] = top;  // own is 0 there
  const auto [sum, sum_next] = weights_of(own, rates().padded, term, top, share, next);
  const double per_sum = 1 / sum, per_next = 1 / sum_next;
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    share[m] *= per_sum;
    next[m] *= per_next;
  }
  count = objects;
  log_total = top + std::log(sum);
  log_rise = std::log(sum_next / sum);
}

ObjectRate::ObjectRate(const AbsenceAwareBeliefs& beliefs, const ImageItems& image)
    : object_share_(beliefs.priors.worklist[worklist_of(beliefs, image)].object_share) {
  // Images that the same people looked at have the same.
  static thread_local Fixed known = [] {
    Fixed first;
    first.fill();
    return first;
  }();
  Fixed own;
  own.all_miss = log_all_miss(beliefs, image);
  own.drawn_in = annotator_drew(image);
  for (std::size_t n = 0; own.drawn_in && n < image.seen_by.size(); ++n) {
    const auto k = static_cast<std::size_t>(image.seen_by[n]);
    if (k >= beliefs.annotators) continue;
    own.annotators_log_miss += image.weight_of_look(n) * beliefs.source[k].log_miss;
    own.annotators_spurious += image.weight_of_look(n) * beliefs.source[k].mean_spurious();
  }
  if (own.all_miss != known.all_miss || own.drawn_in != known.drawn_in ||
      own.annotators_log_miss != known.annotators_log_miss || own.annotators_spurious != known.annotators_spurious) {
    own.fill();
    known = own;
  }
  fixed_ = known;
  miss_ = std::exp(fixed_.all_miss);
}

const ObjectRate::Count& ObjectRate::at(double count) const {
  if (last_.count != count) last_.fill(count, object_share_, fixed_);
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
  if (!fixed_.drawn_in) return out;
  const auto share = posterior(drawn);
  for (std::size_t m = 0; m < kObjectRates; ++m) {
    const double images = share[m] * fixed_.hidden_odds[m];
    out.images += images;
    out.objects += images * rates().value[m] * fixed_.annotators_miss;
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
