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
// of shares ~ Dirichlet(2, ..., 2). Shares lie by given class: share[l * J + j]. A row's entries for which nobody has a
// count are all equal, its floor, and so are what follows from them.
namespace bdc::absence_aware {
namespace {

constexpr double kStrengthShape = 2;
constexpr double kSmallestStrength = 1e-3, kLargestStrength = 1e4;
/// wrong_k is at least this times J - 1. The expected logarithm of a Dirichlet share of small weight w is about -1/w:
/// with many classes and few boxes, one wrong label would weigh more than any agreement of boxes.
constexpr double kLeastWrongPerClass = 0.25;

/// The shares with their logarithms, and what most entries of a row are.
struct Shares {
  std::size_t J;
  std::vector<double>& share;
  std::vector<double> log_share, floor, log_floor;

  explicit Shares(AbsenceAwareBeliefs& beliefs) : J(beliefs.classes), share(beliefs.priors.wrong_share) {
    floor.assign(J, 1.0);
    for (std::size_t l = 0; l < J; ++l) {
      for (std::size_t j = 0; j < J; ++j) {
        if (j != l) floor[j] = std::min(floor[j], share[l * J + j]);
      }
    }
    log_floor.resize(J);
    for (std::size_t j = 0; j < J; ++j) log_floor[j] = std::log(floor[j]);
    log_share.assign(J * J, 0.0);
    for (std::size_t l = 0; l < J; ++l) {
      for (std::size_t j = 0; j < J; ++j) {
        const double s = share[l * J + j];
        if (j != l) log_share[l * J + j] = s == floor[j] ? log_floor[j] : std::log(s);
      }
    }
  }
};

/// One source's counts and the prior's shares.
struct SourceCounts {
  const ConfusionColumns& columns;
  const ConfusionCells& cells;
  const Shares& shares;
  std::size_t source;

  /// Calls body(true class, given class, count > 0) for every count.
  template <class Body>
  void for_counts(const Body& body) const {
    for (std::size_t c = columns.begin[source]; c < columns.begin[source + 1]; ++c) {
      const auto l = static_cast<std::size_t>(columns.label[c]);
      for (std::size_t n = cells.begin[c]; n < cells.begin[c + 1]; ++n) {
        body(static_cast<std::size_t>(cells.true_class[n]), l, cells.count[n]);
      }
    }
  }
  void row_totals(std::vector<double>& total) const {
    total.assign(shares.J, 0.0);
    for_counts([&](std::size_t j, std::size_t, double n) { total[j] += n; });
  }
};

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
      const std::size_t at = l * s.shares.J + j;
      result += fast_rise(wrong * s.shares.share[at], log_wrong + s.shares.log_share[at], n);
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
        const std::size_t at = l * s.shares.J + j;
        wrong_gain += fast_gain(wrong * s.shares.share[at], log_w + s.shares.log_share[at], n);
      }
    });
    const double k = kStrengthShape;
    const auto clamp = [](double x, double least) { return std::min(kLargestStrength, std::max(least, x)); };
    const double least_wrong = kLeastWrongPerClass * static_cast<double>(s.shares.J - 1);
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

/// Columns by given class, in the order of their sources.
struct ColumnsByLabel {
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> column, source;
  explicit ColumnsByLabel(const ConfusionColumns& columns)
      : begin(columns.num_classes + 1, 0), column(columns.label.size()), source(columns.label.size()) {
    for (const std::int32_t l : columns.label) ++begin[static_cast<std::size_t>(l) + 1];
    for (std::size_t l = 0; l < columns.num_classes; ++l) begin[l + 1] += begin[l];
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t k = 0; k < columns.num_annotators(); ++k) {
      for (std::size_t c = columns.begin[k]; c < columns.begin[k + 1]; ++c) {
        const std::size_t at = next[static_cast<std::size_t>(columns.label[c])]++;
        column[at] = static_cast<std::uint32_t>(c);
        source[at] = static_cast<std::uint32_t>(k);
      }
    }
  }
};

/// Refits the crowd's shares; a row is changed only when its evidence does not fall.
void fit_shares(const ConfusionCells& cells, const ColumnsByLabel& by_label, Shares& shares,
                const AbsenceAwareBeliefs& beliefs, int threads) {
  const std::size_t J = beliefs.classes, chunk_size = 1 + J / 32, chunks = (J + chunk_size - 1) / chunk_size;
  std::vector<double> log_wrong(beliefs.source.size());
  for (std::size_t k = 0; k < log_wrong.size(); ++k) log_wrong[k] = std::log(beliefs.source[k].wrong_strength);
  /// Calls body(source, true class, count) for all counts of given class l but the right ones.
  const auto for_wrong = [&](std::size_t l, const auto& body) {
    for (std::size_t at = by_label.begin[l]; at < by_label.begin[l + 1]; ++at) {
      const std::size_t k = by_label.source[at], c = by_label.column[at];
      if (!beliefs.source[k].active) continue;
      for (std::size_t n = cells.begin[c]; n < cells.begin[c + 1]; ++n) {
        const auto j = static_cast<std::size_t>(cells.true_class[n]);
        if (j != l) body(k, j, cells.count[n]);
      }
    }
  };
  std::vector<double> proposal(J * J, 0.0);
  parallel_chunks(J, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t l = begin; l < end; ++l) {
      for_wrong(l, [&](std::size_t k, std::size_t j, double n) {
        const std::size_t at = l * J + j;
        proposal[at] +=
            fast_gain(beliefs.source[k].wrong_strength * shares.share[at], log_wrong[k] + shares.log_share[at], n);
      });
    }
  });
  std::vector<double> total(J, static_cast<double>(J - 1)), floor(J), log_floor(J);
  for (std::size_t l = 0; l < J; ++l) {
    for (std::size_t j = 0; j < J; ++j) total[j] += proposal[l * J + j];
  }
  for (std::size_t j = 0; j < J; ++j) {
    floor[j] = 1 / total[j];
    log_floor[j] = -std::log(total[j]);
  }
  std::vector<double> log_proposal(J * J, 0.0);
  std::vector<std::vector<double>> partial(chunks);
  parallel_chunks(J, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    partial[chunk].assign(J, 0.0);
    std::vector<double>& gain = partial[chunk];
    for (std::size_t l = begin; l < end; ++l) {
      for (std::size_t j = 0; j < J; ++j) {
        if (j == l) continue;
        const std::size_t at = l * J + j;
        const bool counted = proposal[at] > 0;
        proposal[at] = (1 + proposal[at]) * floor[j];
        log_proposal[at] = counted ? std::log(proposal[at]) : log_floor[j];
        gain[j] += log_proposal[at] - shares.log_share[at];
      }
      for_wrong(l, [&](std::size_t k, std::size_t j, double n) {
        const std::size_t at = l * J + j;
        const double wrong = beliefs.source[k].wrong_strength;
        gain[j] += fast_rise(wrong * proposal[at], log_wrong[k] + log_proposal[at], n) -
                   fast_rise(wrong * shares.share[at], log_wrong[k] + shares.log_share[at], n);
      });
    }
  });
  for (std::size_t j = 0; j < J; ++j) {
    double gain = 0;
    for (const std::vector<double>& p : partial) gain += p[j];
    if (!(gain > 0)) continue;
    shares.floor[j] = floor[j];
    shares.log_floor[j] = log_floor[j];
    for (std::size_t l = 0; l < J; ++l) {
      shares.share[l * J + j] = l == j ? 0.0 : proposal[l * J + j];
      shares.log_share[l * J + j] = log_proposal[l * J + j];
    }
  }
}

constexpr double kFirstScaling = 0.7;
constexpr int kScalings = 4;

/// Multiplies the strengths of all sources, and the typical ones, by one factor, as long as the evidence rises. Their
/// priors do not see it, and where a crowd is of one mind the single fits would need hundreds of rounds to get there.
void scale_strengths(const ConfusionColumns& columns, const ConfusionCells& cells, const Shares& shares,
                     AbsenceAwareBeliefs& beliefs, int threads) {
  const std::size_t S = beliefs.source.size(), chunk_size = source_chunk(S);
  double least = kLargestStrength, most = kSmallestStrength, least_wrong = kLargestStrength;
  for (const SourceBelief& b : beliefs.source) {
    if (!b.active) continue;
    least = std::min(least, b.right_strength);
    least_wrong = std::min(least_wrong, b.wrong_strength);
    most = std::max({most, b.right_strength, b.wrong_strength});
  }
  const double low = std::max(std::log(kSmallestStrength / least),
                              std::log(kLeastWrongPerClass * static_cast<double>(shares.J - 1) / least_wrong));
  const double high = std::log(kLargestStrength / most);
  if (!(low <= 0 && high >= 0)) return;
  std::vector<double> partial((S + chunk_size - 1) / chunk_size);
  const auto evidence_at = [&](double log_factor) {
    const double factor = std::exp(log_factor);
    AbsenceAwarePriors scaled;  // the typical strengths alone are looked at
    scaled.right_strength = beliefs.priors.right_strength * factor;
    scaled.wrong_strength = beliefs.priors.wrong_strength * factor;
    parallel_chunks(S, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
      std::vector<double> totals;
      double sum = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const SourceBelief& b = beliefs.source[k];
        if (!b.active) continue;
        const SourceCounts counts{columns, cells, shares, k};
        counts.row_totals(totals);
        sum += log_evidence(counts, totals, b.right_strength * factor, b.wrong_strength * factor, scaled);
      }
      partial[chunk] = sum;
    });
    double total = 0;
    for (const double p : partial) total += p;
    return total;
  };
  double here = evidence_at(0), at = 0;
  for (double direction : {1.0, -1.0}) {
    double step = direction * kFirstScaling;
    for (int attempt = 0; attempt < kScalings; ++attempt) {
      const double next = std::min(high, std::max(low, at + step));
      if (next == at) break;
      const double there = evidence_at(next);
      if (!(there > here)) break;
      here = there;
      at = next;
      step *= 2;
    }
    if (at != 0) break;
  }
  if (at == 0) return;
  const double factor = std::exp(at);
  for (SourceBelief& b : beliefs.source) {
    if (!b.active) continue;
    b.right_strength *= factor;
    b.wrong_strength *= factor;
  }
  beliefs.priors.right_strength *= factor;
  beliefs.priors.wrong_strength *= factor;
}

}  // namespace

bool is_huge(const ConfusionColumns& counts) {
  return counts.value.size() > 10'000'000;
}

bool is_large(const ConfusionCells& counts, std::size_t classes) {
  return counts.count.size() + classes * classes > 200'000;
}

void fit_confusion_priors(const ConfusionColumns& columns, const ConfusionCells& cells, AbsenceAwareBeliefs& beliefs,
                          bool scale, int threads) {
  if (beliefs.classes < 2) return;
  const std::size_t S = beliefs.source.size();
  constexpr int iterations = 2, steps = 3;
  Shares shares(beliefs);
  const ColumnsByLabel by_label(columns);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    parallel_chunks(S, source_chunk(S), threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t k = begin; k < end; ++k) {
        if (!beliefs.source[k].active) continue;
        fit_strengths({columns, cells, shares, k}, beliefs.priors, steps, beliefs.source[k]);
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
    if (beliefs.classes > 2) fit_shares(cells, by_label, shares, beliefs, threads);
  }
  if (scale) scale_strengths(columns, cells, shares, beliefs, threads);
}

void set_confusion_posteriors(const ConfusionCells& cells, AbsenceAwareBeliefs& beliefs, int threads) {
  const std::size_t J = beliefs.classes, S = beliefs.source.size();
  ConfusionColumns& columns = beliefs.log_confusion;
  const Shares shares(beliefs);
  const LogDigamma& psi = log_digamma();
  parallel_chunks(S, source_chunk(S), threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::vector<double> totals, psi_sum(J), unseen(J);
    for (std::size_t k = begin; k < end; ++k) {
      SourceBelief& b = beliefs.source[k];
      SourceCounts{columns, cells, shares, k}.row_totals(totals);
      const double right = b.right_strength, wrong = J > 1 ? b.wrong_strength : 0.0, sum = right + wrong;
      const double log_wrong = wrong > 0 ? std::log(wrong) : 0.0, psi_nothing = digamma(sum),
                   psi_right = digamma(right), log_right = std::log(right);
      double divergence = 0;
      for (std::size_t j = 0; j < J; ++j) {
        psi_sum[j] = totals[j] > 0 ? digamma(sum + totals[j]) : psi_nothing;
        if (totals[j] > 0) divergence += log_gamma_rise(sum, totals[j]);
        unseen[j] = J > 1 ? psi(log_wrong + shares.log_floor[j]) : 0.0;
      }
      for (std::size_t c = columns.begin[k]; c < columns.begin[k + 1]; ++c) {
        const auto l = static_cast<std::size_t>(columns.label[c]);
        const double *share = shares.share.data() + l * J, *log_share = shares.log_share.data() + l * J;
        double* column = columns.value.data() + c * J;
        for (std::size_t j = 0; j < J; ++j) {
          column[j] = (share[j] == shares.floor[j] ? unseen[j] : psi(log_wrong + log_share[j])) - psi_sum[j];
        }
        column[l] = psi_right - psi_sum[l];
        for (std::size_t at = cells.begin[c]; at < cells.begin[c + 1]; ++at) {
          const auto j = static_cast<std::size_t>(cells.true_class[at]);
          const double n = cells.count[at], w = j == l ? right : wrong * share[j];
          const double log_w = j == l ? log_right : log_wrong + log_share[j];
          const double expected = (is_slight(w, n) ? psi(log_w + n / w) : digamma(w + n)) - psi_sum[j];
          divergence += n * expected - fast_rise(w, log_w, n);
          column[j] = expected;
        }
      }
      b.confusion_divergence = divergence;
    }
  });
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
  double product = 1;  // of shares, never so small that it is rounded to 0
  for (std::size_t l = 0; l < J; ++l) {
    for (std::size_t j = 0; j < J; ++j) {
      if (l == j) continue;
      product *= beliefs.priors.wrong_share[l * J + j];
      if (product > 1e-200) continue;
      result += std::log(product);
      product = 1;
    }
  }
  return result + std::log(product);
}

}  // namespace bdc::absence_aware
