#include <algorithm>
#include <cmath>

#include "bdc/base/parallel.h"
#include "bdc/base/special_functions.h"
#include "learn/bdc/absence_aware/log_digamma.h"
#include "learn/bdc/absence_aware/source_update.h"

// A source's confusion row of true class j has the Dirichlet prior
//   right_k on class j,  wrong_k * share_jl on class l,
// so how good a source is (right_k, wrong_k) is learnt over all its rows, and which classes are alike (share) over the
// whole crowd. ln right_k has the density of a Gamma(2, 2 / right_strength) variable on the log scale, wrong_k likewise
// (on the log scale, since otherwise the prior could rise without limit by shrinking all strengths together); every row
// of shares ~ Dirichlet(2, ..., 2).
namespace bdc::absence_aware {
namespace {

constexpr double kStrengthShape = 2;
constexpr double kSmallestStrength = 1e-3, kLargestStrength = 1e4;
/// wrong_k is at least this times J - 1. The expected logarithm of a Dirichlet share of small weight w is about -1/w:
/// with many classes and few boxes, one wrong label would weigh more than any agreement of boxes.
constexpr double kLeastWrongPerClass = 0.25;

/// One source's counts and the prior's share matrix.
struct SourceCounts {
  const ConfusionColumns& columns;
  const std::vector<double>&share, &log_share;
  std::size_t source, J;

  /// Calls body(true class, given class, count > 0) for every count.
  template <class Body>
  void for_counts(const Body& body) const {
    for (std::size_t c = columns.begin[source]; c < columns.begin[source + 1]; ++c) {
      const auto l = static_cast<std::size_t>(columns.label[c]);
      const double* column = columns.value.data() + c * J;
      for (std::size_t j = 0; j < J; ++j) {
        if (column[j] > 0) body(j, l, column[j]);
      }
    }
  }
  void row_totals(std::vector<double>& total) const {
    total.assign(J, 0.0);
    for_counts([&](std::size_t j, std::size_t, double n) { total[j] += n; });
  }
};

/// ln of every entry; 0 for those that are 0.
std::vector<double> logs_of(const std::vector<double>& values) {
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i] > 0 ? std::log(values[i]) : 0.0;
  return out;
}

double prior_weight(double right, double wrong, const std::vector<double>& share, std::size_t J, std::size_t j,
                    std::size_t l) {
  return j == l ? right : wrong * share[j * J + l];
}

double log_strength_prior(double strength, double typical) {
  return kStrengthShape * std::log(strength) - kStrengthShape * strength / typical - kStrengthShape * std::log(typical);
}

/// Dirichlet-multinomial log evidence of a source's counts plus the prior of its two strengths.
double log_evidence(const SourceCounts& s, const std::vector<double>& totals, double right, double wrong,
                    const AbsenceAwarePriors& p) {
  const double sum = right + wrong, log_sum = std::log(sum), log_right = std::log(right), log_wrong = std::log(wrong);
  double result = log_strength_prior(right, p.right_strength) + log_strength_prior(wrong, p.wrong_strength);
  for (const double total : totals) {
    if (total > 0) result -= fast_rise(sum, log_sum, total);
  }
  s.for_counts([&](std::size_t j, std::size_t l, double n) {
    if (j == l) {
      result += fast_rise(right, log_right, n);
    } else {
      result += fast_rise(wrong * s.share[j * s.J + l], log_wrong + s.log_share[j * s.J + l], n);
    }
  });
  return result;
}

/// Fixed-point steps for both strengths, each halved until the evidence does not fall.
void fit_strengths(const SourceCounts& s, const AbsenceAwarePriors& p, int steps, SourceBelief& belief) {
  std::vector<double> totals;
  s.row_totals(totals);
  double right = belief.right_strength, wrong = belief.wrong_strength;
  double here = log_evidence(s, totals, right, wrong, p);
  for (int iteration = 0; iteration < steps; ++iteration) {
    const double sum = right + wrong, psi_sum = digamma(sum), log_r = std::log(right), log_w = std::log(wrong);
    double below = 0, right_gain = 0, wrong_gain = 0;
    for (const double total : totals) {
      if (total > 0) below += digamma(sum + total) - psi_sum;
    }
    s.for_counts([&](std::size_t j, std::size_t l, double n) {
      if (j == l) {
        right_gain += fast_gain(right, log_r, n);
      } else {
        wrong_gain += fast_gain(wrong * s.share[j * s.J + l], log_w + s.log_share[j * s.J + l], n);
      }
    });
    const double k = kStrengthShape;
    const auto clamp = [](double x, double least) { return std::min(kLargestStrength, std::max(least, x)); };
    const double least_wrong = kLeastWrongPerClass * static_cast<double>(s.J - 1);
    double log_right = std::log(clamp((right_gain + k) / (below + k / p.right_strength), kSmallestStrength) / right);
    double log_wrong = std::log(clamp((wrong_gain + k) / (below + k / p.wrong_strength), least_wrong) / wrong);
    bool taken = false;
    for (int attempt = 0; attempt < 4 && !taken; ++attempt) {
      const double r = right * std::exp(log_right), w = wrong * std::exp(log_wrong);
      const double there = log_evidence(s, totals, r, w, p);
      if (there >= here) {
        right = r;
        wrong = w;
        here = there;
        taken = true;
      }
      log_right /= 2;
      log_wrong /= 2;
    }
    if (!taken) break;
  }
  belief.right_strength = right;
  belief.wrong_strength = wrong;
}

std::size_t source_chunk(std::size_t sources) {
  return 1 + sources / 64;
}

/// Refits the crowd's shares; a row is changed only when its evidence does not fall.
void fit_shares(const ConfusionColumns& counts, std::vector<double>& log_share, AbsenceAwareBeliefs& beliefs,
                int threads) {
  const std::size_t J = beliefs.classes, S = beliefs.source.size(), chunk_size = source_chunk(S);
  const std::size_t chunks = (S + chunk_size - 1) / chunk_size;
  std::vector<double>& share = beliefs.priors.wrong_share;
  std::vector<std::vector<double>> partial(chunks);
  const auto reduce = [&](std::size_t width, const auto& body) {
    parallel_chunks(S, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
      partial[chunk].assign(width, 0.0);
      for (std::size_t k = begin; k < end; ++k) {
        if (beliefs.source[k].active) body(k, partial[chunk]);
      }
    });
    std::vector<double> sum(width, 0.0);
    for (const std::vector<double>& p : partial) {
      for (std::size_t i = 0; i < width; ++i) sum[i] += p[i];
    }
    return sum;
  };
  std::vector<double> proposal = reduce(J * J, [&](std::size_t k, std::vector<double>& gain) {
    const double wrong = beliefs.source[k].wrong_strength, log_w = std::log(wrong);
    SourceCounts{counts, share, log_share, k, J}.for_counts([&](std::size_t j, std::size_t l, double n) {
      if (j == l) return;
      gain[j * J + l] += fast_gain(wrong * share[j * J + l], log_w + log_share[j * J + l], n);
    });
  });
  for (std::size_t j = 0; j < J; ++j) {
    double total = 0;
    for (std::size_t l = 0; l < J; ++l) total += l == j ? 0.0 : ++proposal[j * J + l];
    for (std::size_t l = 0; l < J; ++l) proposal[j * J + l] = l == j ? 0.0 : proposal[j * J + l] / total;
  }
  const std::vector<double> log_proposal = logs_of(proposal);
  std::vector<double> gain = reduce(J, [&](std::size_t k, std::vector<double>& row) {
    const double wrong = beliefs.source[k].wrong_strength, log_w = std::log(wrong);
    SourceCounts{counts, share, log_share, k, J}.for_counts([&](std::size_t j, std::size_t l, double n) {
      if (j == l) return;
      const std::size_t at = j * J + l;
      row[j] += fast_rise(wrong * proposal[at], log_w + log_proposal[at], n) -
                fast_rise(wrong * share[at], log_w + log_share[at], n);
    });
  });
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t l = 0; l < J; ++l) {
      if (l != j) gain[j] += log_proposal[j * J + l] - log_share[j * J + l];
    }
    if (!(gain[j] > 0)) continue;
    for (std::size_t l = 0; l < J; ++l) {
      share[j * J + l] = proposal[j * J + l];
      log_share[j * J + l] = log_proposal[j * J + l];
    }
  }
}

}  // namespace

bool is_large(const ConfusionColumns& counts) {
  return counts.value.size() > 1'000'000;
}

bool is_huge(const ConfusionColumns& counts) {
  return counts.value.size() > 10'000'000;
}

void fit_confusion_priors(const ConfusionColumns& counts, AbsenceAwareBeliefs& beliefs, int threads) {
  if (beliefs.classes < 2) return;
  const std::size_t S = beliefs.source.size();
  constexpr int iterations = 2, steps = 3;
  std::vector<double> log_share = logs_of(beliefs.priors.wrong_share);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    parallel_chunks(S, source_chunk(S), threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t k = begin; k < end; ++k) {
        if (!beliefs.source[k].active) continue;
        fit_strengths({counts, beliefs.priors.wrong_share, log_share, k, beliefs.classes}, beliefs.priors, steps,
                      beliefs.source[k]);
      }
    });
    // The best typical strengths given the sources': their means.
    double right = 0, wrong = 0, active = 0;
    for (const SourceBelief& b : beliefs.source) {
      if (!b.active) continue;
      right += b.right_strength;
      wrong += b.wrong_strength;
      active += 1;
    }
    if (active > 0) {
      beliefs.priors.right_strength = right / active;
      beliefs.priors.wrong_strength = wrong / active;
    }
    if (beliefs.classes > 2) fit_shares(counts, log_share, beliefs, threads);
  }
}

void set_confusion_posteriors(ConfusionColumns counts, AbsenceAwareBeliefs& beliefs, int threads) {
  const std::size_t J = beliefs.classes, S = beliefs.source.size();
  const std::vector<double>& share = beliefs.priors.wrong_share;
  const std::vector<double> log_share = logs_of(share);
  const LogDigamma& psi = log_digamma();
  parallel_chunks(S, source_chunk(S), threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::vector<double> totals, psi_sum(J);
    for (std::size_t k = begin; k < end; ++k) {
      SourceBelief& b = beliefs.source[k];
      SourceCounts{counts, share, log_share, k, J}.row_totals(totals);
      const double right = b.right_strength, wrong = J > 1 ? b.wrong_strength : 0.0, sum = right + wrong;
      const double log_wrong = wrong > 0 ? std::log(wrong) : 0.0, psi_nothing = digamma(sum),
                   psi_right = digamma(right), log_right = std::log(right);
      double divergence = 0;
      for (std::size_t j = 0; j < J; ++j) {
        psi_sum[j] = totals[j] > 0 ? digamma(sum + totals[j]) : psi_nothing;
        if (totals[j] > 0) divergence += log_gamma_rise(sum, totals[j]);
      }
      for (std::size_t c = counts.begin[k]; c < counts.begin[k + 1]; ++c) {
        const auto l = static_cast<std::size_t>(counts.label[c]);
        double* column = counts.value.data() + c * J;
        for (std::size_t j = 0; j < J; ++j) {
          const double n = column[j];
          if (!(n > 0)) {
            column[j] = (j == l ? psi_right : psi(log_wrong + log_share[j * J + l])) - psi_sum[j];
            continue;
          }
          const double w = prior_weight(right, wrong, share, J, j, l);
          const double log_w = j == l ? log_right : log_wrong + log_share[j * J + l];
          const double expected = (is_slight(w, n) ? psi(log_w + n / w) : digamma(w + n)) - psi_sum[j];
          divergence += n * expected - fast_rise(w, log_w, n);
          column[j] = expected;
        }
      }
      b.confusion_divergence = divergence;
    }
  });
  beliefs.log_confusion = std::move(counts);
}

double log_hyperprior(const AbsenceAwareBeliefs& beliefs) {
  if (beliefs.classes < 2) return 0;
  double result = 0;
  for (const SourceBelief& b : beliefs.source) {
    if (!b.active) continue;
    result += log_strength_prior(b.right_strength, beliefs.priors.right_strength) +
              log_strength_prior(b.wrong_strength, beliefs.priors.wrong_strength);
  }
  const std::size_t J = beliefs.classes;
  for (std::size_t j = 0; j < J; ++j) {
    for (std::size_t l = 0; l < J; ++l) {
      if (l != j) result += std::log(beliefs.priors.wrong_share[j * J + l]);
    }
  }
  return result;
}

}  // namespace bdc::absence_aware
