#include "learn/bdc/absence_aware/source_update.h"

#include <algorithm>
#include <cmath>

#include "bdc/base/parallel.h"
#include "bdc/base/special_functions.h"
#include "learn/bdc/absence_aware/edge_noise.h"
#include "learn/bdc/absence_aware/line_search.h"
#include "learn/bdc/absence_aware/object_rate.h"

namespace bdc::absence_aware {
namespace {

// Hyperpriors, weak and on scales every crowd shares: exponential on the strength of the recall prior, and on shape and
// rate of the spurious prior. They keep a crowd of one or two annotators from drawing a prior of infinite strength.
constexpr double kRecallStrengthRate = 0.1;
constexpr double kSpuriousShapeRate = 0.1;
constexpr double kSpuriousMeanRate = 0.3;

/// Sum over the active sources of body(source evidence), in an order that does not depend on threads.
template <class Body>
double sum_over_sources(const std::vector<SourceEvidence>& evidence, const AbsenceAwareBeliefs& beliefs, int threads,
                        const Body& body) {
  constexpr std::size_t kChunk = 4096;
  std::vector<double> partial((evidence.size() + kChunk - 1) / kChunk, 0.0);
  parallel_chunks(evidence.size(), kChunk, threads, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    double sum = 0;
    for (std::size_t k = begin; k < end; ++k) {
      if (beliefs.source[k].active) sum += body(evidence[k]);
    }
    partial[chunk] = sum;
  });
  double total = 0;
  for (const double p : partial) total += p;
  return total;
}

double beta_function(double a, double b) {
  return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
}

}  // namespace

void fit_source_priors(const std::vector<SourceEvidence>& evidence, AbsenceAwareBeliefs& beliefs, int threads) {
  AbsenceAwarePriors& p = beliefs.priors;
  for (std::size_t e = 0; e < 4; ++e) {
    // Normal-Gamma evidence of the edge errors of all sources.
    const auto log_evidence = [&](double shape, double rate, double strength) {
      const double fixed = shape * std::log(rate) - log_gamma(shape) + 0.5 * std::log(strength);
      return sum_over_sources(evidence, beliefs, threads, [&](const SourceEvidence& s) {
        const double a = shape + s.boxes / 2, count = strength + s.weight[e];
        const double b = rate + 0.5 * std::max(0.0, s.square[e] - s.error[e] * s.error[e] / count);
        return fixed + log_gamma(a) - a * std::log(b) - 0.5 * std::log(count);
      });
    };
    double shape = p.precision_shape[e], square = p.precision_rate[e] / shape, strength = p.bias_strength[e];
    raise(square, 1e-6, 4.0, [&](double x) { return log_evidence(shape, x * shape, strength); });
    raise(shape, 1.0, 20.0, [&](double x) { return log_evidence(x, square * x, strength); });
    raise(strength, 1.0, 1000.0, [&](double x) { return log_evidence(shape, square * shape, x); });
    p.precision_shape[e] = shape;
    p.precision_rate[e] = square * shape;
    p.bias_strength[e] = strength;
  }
  {
    const auto log_evidence = [&](double a, double b) {
      const double fixed = beta_function(a, b);
      return sum_over_sources(
                 evidence, beliefs, threads,
                 [&](const SourceEvidence& s) { return beta_function(a + s.found, b + s.missed) - fixed; }) -
             kRecallStrengthRate * (a + b);
    };
    double mean = p.recall_a / (p.recall_a + p.recall_b), strength = p.recall_a + p.recall_b;
    raise(mean, 0.05, 0.99, [&](double x) { return log_evidence(x * strength, (1 - x) * strength); });
    raise(strength, 1.0, 100.0, [&](double x) { return log_evidence(mean * x, (1 - mean) * x); });
    p.recall_a = mean * strength;
    p.recall_b = (1 - mean) * strength;
  }
  {
    const auto log_evidence = [&](double a, double b) {
      const double fixed = a * std::log(b) - log_gamma(a);
      return sum_over_sources(evidence, beliefs, threads,
                              [&](const SourceEvidence& s) {
                                return fixed + log_gamma(a + s.spurious) - (a + s.spurious) * std::log(b + s.images);
                              }) -
             kSpuriousShapeRate * a - kSpuriousMeanRate * a / b;
    };
    double shape = p.spurious_shape, mean = shape / p.spurious_rate;
    raise(mean, 1e-4, 20.0, [&](double x) { return log_evidence(shape, shape / x); });
    raise(shape, 1.0, 30.0, [&](double x) { return log_evidence(x, x / mean); });
    p.spurious_shape = shape;
    p.spurious_rate = shape / mean;
  }
}

void set_source_posteriors(const AbsenceAwareEvidence& evidence, AbsenceAwareBeliefs& beliefs) {
  const AbsenceAwarePriors& p = beliefs.priors;
  for (std::size_t k = 0; k < beliefs.source.size(); ++k) {
    SourceBelief& b = beliefs.source[k];
    const SourceEvidence& s = evidence.source[k];
    for (std::size_t e = 0; e < 4; ++e) {
      b.shape[e] = p.precision_shape[e] + s.boxes / 2;
      b.bias_count[e] = p.bias_strength[e] + s.weight[e];
      b.bias[e] = s.error[e] / b.bias_count[e];
      b.rate[e] = p.precision_rate[e] + 0.5 * std::max(0.0, s.square[e] - s.error[e] * b.bias[e]);
    }
    b.recall_a = p.recall_a + s.found;
    b.recall_b = p.recall_b + s.missed;
    b.spurious_shape = p.spurious_shape + s.spurious;
    b.spurious_rate = p.spurious_rate + s.images;
  }
  for (std::size_t j = 0; j < beliefs.classes; ++j) beliefs.class_weight[j] = 1 + evidence.class_count[j];
  for (std::size_t i = 0; i < kScoreLevels; ++i) {
    beliefs.real_weight[i] = 1 + evidence.real_level[i];
    beliefs.spurious_weight[i] = 1 + evidence.spurious_level[i];
  }
  set_expectations(beliefs);
}

namespace {

template <class Weights, class Logs>
void expected_log_dirichlet(const Weights& weight, Logs& log_share) {
  double total = 0;
  for (const double w : weight) total += w;
  const double psi_total = digamma(total);
  for (std::size_t i = 0; i < weight.size(); ++i) log_share[i] = digamma(weight[i]) - psi_total;
}

/// KL of a Dirichlet posterior from the prior with all weights 1.
template <class Weights, class Logs>
double divergence_from_flat(const Weights& weight, const Logs& log_share) {
  double total = 0, result = -log_gamma(static_cast<double>(weight.size()));
  for (std::size_t i = 0; i < weight.size(); ++i) {
    total += weight[i];
    result += (weight[i] - 1) * log_share[i] - log_gamma(weight[i]);
  }
  return result + log_gamma(total);
}

/// KL(Gamma(a, b) || Gamma(a0, b0)).
double gamma_divergence(double a, double b, double a0, double b0) {
  return (a - a0) * digamma(a) - log_gamma(a) + log_gamma(a0) + a0 * (std::log(b) - std::log(b0)) + a * (b0 - b) / b;
}

double beta_divergence(double a, double b, double a0, double b0) {
  return beta_function(a0, b0) - beta_function(a, b) + (a - a0) * digamma(a) + (b - b0) * digamma(b) -
         (a + b - a0 - b0) * digamma(a + b);
}

}  // namespace

void set_expectations(AbsenceAwareBeliefs& beliefs) {
  for (SourceBelief& b : beliefs.source) {
    b.log_edges = 0;
    for (std::size_t e = 0; e < 4; ++e) {
      b.precision[e] = b.shape[e] / b.rate[e];
      b.log_precision[e] = digamma(b.shape[e]) - std::log(b.rate[e]);
      b.log_edges += 0.5 * (b.log_precision[e] - kLogTwoPi);
      b.bias_doubt[e] = 1 / b.bias_count[e];
    }
    const double both = digamma(b.recall_a + b.recall_b);
    b.log_recall = digamma(b.recall_a) - both;
    b.log_miss = digamma(b.recall_b) - both;
    b.log_spurious = digamma(b.spurious_shape) - std::log(b.spurious_rate);
  }
  expected_log_dirichlet(beliefs.class_weight, beliefs.log_class);
  expected_log_dirichlet(beliefs.real_weight, beliefs.log_real_level);
  expected_log_dirichlet(beliefs.spurious_weight, beliefs.log_spurious_level);
}

double global_bound(const AbsenceAwareBeliefs& beliefs) {
  const AbsenceAwarePriors& p = beliefs.priors;
  double bound = log_hyperprior(beliefs) + log_object_hyperprior(p);
  for (const SourceBelief& b : beliefs.source) {
    if (!b.active) continue;
    for (std::size_t e = 0; e < 4; ++e) {
      bound -= gamma_divergence(b.shape[e], b.rate[e], p.precision_shape[e], p.precision_rate[e]);
      const double ratio = p.bias_strength[e] / b.bias_count[e];
      bound -= 0.5 * (ratio - 1 - std::log(ratio) + p.bias_strength[e] * b.precision[e] * b.bias[e] * b.bias[e]);
    }
    bound -= beta_divergence(b.recall_a, b.recall_b, p.recall_a, p.recall_b);
    bound -= gamma_divergence(b.spurious_shape, b.spurious_rate, p.spurious_shape, p.spurious_rate);
    bound -= b.confusion_divergence;
  }
  bound -= divergence_from_flat(beliefs.class_weight, beliefs.log_class);
  if (beliefs.has_detector) {
    bound -= divergence_from_flat(beliefs.real_weight, beliefs.log_real_level);
    bound -= divergence_from_flat(beliefs.spurious_weight, beliefs.log_spurious_level);
  }
  bound -= kRecallStrengthRate * (p.recall_a + p.recall_b);
  bound -= kSpuriousShapeRate * p.spurious_shape + kSpuriousMeanRate * p.spurious_shape / p.spurious_rate;
  return bound;
}

double expected_log_likelihood(const AbsenceAwareEvidence& evidence, const AbsenceAwareBeliefs& beliefs) {
  double sum = 0;
  for (std::size_t k = 0; k < beliefs.source.size(); ++k) {
    const SourceBelief& b = beliefs.source[k];
    const SourceEvidence& s = evidence.source[k];
    sum += s.found * b.log_recall + s.missed * b.log_miss + s.spurious * b.log_spurious - s.images * b.mean_spurious();
    for (std::size_t e = 0; e < 4; ++e) {
      const double square = s.square[e] - 2 * b.bias[e] * s.error[e] + b.bias[e] * b.bias[e] * s.weight[e];
      sum += 0.5 * s.boxes * b.log_precision[e] - 0.5 * (b.precision[e] * square + s.weight[e] / b.bias_count[e]);
    }
  }
  for (std::size_t i = 0; i < evidence.confusion.value.size(); ++i) {
    sum += evidence.confusion.value[i] * beliefs.log_confusion.value[i];
  }
  for (std::size_t j = 0; j < beliefs.classes; ++j) sum += evidence.class_count[j] * beliefs.log_class[j];
  for (std::size_t i = 0; i < kScoreLevels; ++i) {
    sum +=
        evidence.real_level[i] * beliefs.log_real_level[i] + evidence.spurious_level[i] * beliefs.log_spurious_level[i];
  }
  return sum;
}

}  // namespace bdc::absence_aware
