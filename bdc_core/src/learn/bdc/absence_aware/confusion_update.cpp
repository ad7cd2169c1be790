#include <algorithm>
#include <cmath>

#include "bdc/base/parallel.h"
#include "bdc/base/special_functions.h"
#include "learn/bdc/absence_aware/line_search.h"
#include "learn/bdc/absence_aware/log_digamma.h"
#include "learn/bdc/absence_aware/source_update.h"

// A source's confusion row of true class j has the Dirichlet prior
//   right_k * ease_j on class j,  wrong_k * share_jl on class l,
// so how good a source is (right_k, wrong_k) is learnt over all its rows, and which classes are hard (ease) and alike
// (share) over the whole crowd. ln right_k has the density of a Gamma(2, 2 / right_strength) variable on the log scale,
// wrong_k likewise (on the log scale, since otherwise the prior could rise without limit by shrinking all strengths
// together). ln ease_j has that of a Gamma(shape, shape) variable, and the shape, which says how much classes differ,
// an exponential one; every row of shares ~ Dirichlet(2, ..., 2). Shares lie by given class: share[l * J + j]. A row's
// entries for which nobody has a count are all equal, its floor, and so are what follows from them.
namespace bdc::absence_aware {
namespace {

constexpr double kStrengthShape = 2;
constexpr double kSmallestStrength = 1e-3, kLargestStrength = 1e4, kLeastEase = 0.05, kMostEase = 20;
constexpr double kLeastEaseShape = 2, kMostEaseShape = 200, kEaseShapeRate = 0.05;
/// wrong_k is at least this times J - 1. The expected logarithm of a Dirichlet share of small weight w is about -1/w:
/// with many classes and few boxes, one wrong label would weigh more than any agreement of boxes.
constexpr double kLeastWrongPerClass = 0.25;

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

/// The crowd's part of the prior, with logarithms. Every pair of classes with a count has a cell of its own.
struct Shares {
  std::size_t J;
  WrongShares& own;
  std::vector<double>& ease;
  std::vector<double> log_ease, log_share, log_floor;
  std::vector<std::uint32_t> at;  ///< per count: its cell among the shares; for the right class none

  Shares(const ConfusionCells& counts, const ColumnsByLabel& by_label, AbsenceAwareBeliefs& beliefs)
      : J(beliefs.classes),
        own(beliefs.priors.wrong_share),
        ease(beliefs.priors.ease),
        log_ease(J),
        at(counts.count.size(), 0) {
    add_cells(counts, by_label);
    for (std::size_t j = 0; j < J; ++j) log_ease[j] = std::log(ease[j]);
    log_floor.resize(J);
    for (std::size_t j = 0; j < J; ++j) log_floor[j] = std::log(own.floor[j]);
    log_share.resize(own.share.size());
    for (std::size_t n = 0; n < log_share.size(); ++n) {
      const auto j = static_cast<std::size_t>(own.true_class[n]);
      log_share[n] = own.share[n] == own.floor[j] ? log_floor[j] : std::log(own.share[n]);
    }
  }

 private:
  void add_cells(const ConfusionCells& counts, const ColumnsByLabel& by_label) {
    WrongShares grown;
    grown.floor = std::move(own.floor);
    grown.begin.reserve(J + 1);
    grown.begin.push_back(0);
    grown.true_class.reserve(own.share.size());
    grown.share.reserve(own.share.size());
    constexpr std::uint32_t kNone = 0xffffffffU;
    std::vector<std::uint32_t> place(J, kNone);
    std::vector<double> value(J);
    std::vector<std::int32_t> list;
    for (std::size_t l = 0; l < J; ++l) {
      list.clear();
      const auto add = [&](std::int32_t j, double share) {
        std::uint32_t& there = place[static_cast<std::size_t>(j)];
        if (there != kNone) return;
        there = 0;
        value[static_cast<std::size_t>(j)] = share;
        list.push_back(j);
      };
      const auto for_counts = [&](const auto& body) {
        for (std::size_t c = by_label.begin[l]; c < by_label.begin[l + 1]; ++c) {
          const std::size_t column = by_label.column[c];
          for (std::size_t n = counts.begin[column]; n < counts.begin[column + 1]; ++n) {
            if (static_cast<std::size_t>(counts.true_class[n]) != l) body(n, counts.true_class[n]);
          }
        }
      };
      for (std::size_t n = own.begin[l]; n < own.begin[l + 1]; ++n) add(own.true_class[n], own.share[n]);
      const std::size_t known = list.size();
      for_counts([&](std::size_t, std::int32_t j) { add(j, grown.floor[static_cast<std::size_t>(j)]); });
      if (list.size() > known) std::sort(list.begin(), list.end());
      for (const std::int32_t j : list) {
        place[static_cast<std::size_t>(j)] = static_cast<std::uint32_t>(grown.share.size());
        grown.true_class.push_back(j);
        grown.share.push_back(value[static_cast<std::size_t>(j)]);
      }
      grown.begin.push_back(grown.share.size());
      for_counts([&](std::size_t n, std::int32_t j) { at[n] = place[static_cast<std::size_t>(j)]; });
      for (const std::int32_t j : list) place[static_cast<std::size_t>(j)] = kNone;
    }
    own = std::move(grown);
  }
};

/// One source's counts and the prior's shares.
struct SourceCounts {
  const ConfusionColumns& columns;
  const ConfusionCells& cells;
  const Shares& shares;
  std::size_t source;

  /// Calls right(true class, count) and wrong(true class, count, cell of its share) for every count.
  template <class Right, class Wrong>
  void for_counts(const Right& right, const Wrong& wrong) const {
    for (std::size_t c = columns.begin[source]; c < columns.begin[source + 1]; ++c) {
      for (std::size_t n = cells.begin[c]; n < cells.begin[c + 1]; ++n) {
        const auto j = static_cast<std::size_t>(cells.true_class[n]);
        if (cells.true_class[n] == columns.label[c]) {
          right(j, cells.count[n]);
        } else {
          wrong(j, cells.count[n], shares.at[n]);
        }
      }
    }
  }
};

/// A source's counts by true class.
class RowTotals {
 public:
  explicit RowTotals(std::size_t classes) : total_(classes, 0.0) {}
  void set(const SourceCounts& s) {
    for (const std::int32_t j : classes_) total_[static_cast<std::size_t>(j)] = 0;
    classes_.clear();
    const auto add = [&](std::size_t j, double n) {
      if (total_[j] == 0) classes_.push_back(static_cast<std::int32_t>(j));
      total_[j] += n;
    };
    s.for_counts(add, [&](std::size_t j, double n, std::size_t) { add(j, n); });
    std::sort(classes_.begin(), classes_.end());
  }
  /// Those with a count, ascending.
  [[nodiscard]] const std::vector<std::int32_t>& classes() const { return classes_; }
  [[nodiscard]] double operator[](std::int32_t j) const { return total_[static_cast<std::size_t>(j)]; }

 private:
  std::vector<double> total_;
  std::vector<std::int32_t> classes_;
};

double log_ease_prior(double ease, double shape) {
  return shape * (std::log(shape * ease) - ease) - log_gamma(shape);
}

/// Whether an annotator ever gave a class: only the others' ease says how much classes differ.
std::vector<char> given_classes(const AbsenceAwareBeliefs& beliefs) {
  std::vector<char> given(beliefs.classes, 0);
  const ConfusionColumns& columns = beliefs.log_confusion;
  for (std::size_t c = 0; c < columns.begin[beliefs.annotators]; ++c) {
    given[static_cast<std::size_t>(columns.label[c])] = 1;
  }
  return given;
}

double log_ease_priors(const AbsenceAwareBeliefs& beliefs, const std::vector<char>& given, double shape) {
  double sum = -kEaseShapeRate * shape;
  for (std::size_t j = 0; j < beliefs.classes; ++j) {
    const double ease = beliefs.priors.ease[j];
    sum += given[j] != 0 ? log_ease_prior(ease, shape) : kStrengthShape * (std::log(ease) - ease);
  }
  return sum;
}

double log_strength_prior(double strength, double typical) {
  return kStrengthShape * std::log(strength) - kStrengthShape * strength / typical - kStrengthShape * std::log(typical);
}

/// What a row's labels cost: ln Gamma(sum + n) - ln Gamma(sum).
double row_rise(double sum, double n) {
  return fast_rise(sum, is_slight(sum, n) ? std::log(sum) : 0.0, n);
}

/// Dirichlet-multinomial log evidence of a source's counts plus the prior of its two strengths.
double log_evidence(const SourceCounts& s, const RowTotals& totals, double right, double wrong,
                    const AbsenceAwarePriors& p) {
  const double log_right = std::log(right), log_wrong = std::log(wrong);
  double result = log_strength_prior(right, p.right_strength) + log_strength_prior(wrong, p.wrong_strength);
  for (const std::int32_t j : totals.classes()) {
    result -= row_rise(right * s.shares.ease[static_cast<std::size_t>(j)] + wrong, totals[j]);
  }
  s.for_counts([&](std::size_t j,
                   double n) { result += fast_rise(right * s.shares.ease[j], log_right + s.shares.log_ease[j], n); },
               [&](std::size_t, double n, std::size_t at) {
                 result += fast_rise(wrong * s.shares.own.share[at], log_wrong + s.shares.log_share[at], n);
               });
  return result;
}

/// Fixed-point steps for both strengths, each halved until the evidence does not fall.
void fit_strengths(const SourceCounts& s, const AbsenceAwarePriors& p, int steps, RowTotals& totals,
                   SourceBelief& belief) {
  totals.set(s);
  double right = belief.right_strength, wrong = belief.wrong_strength;
  double here = log_evidence(s, totals, right, wrong, p);
  for (int iteration = 0; iteration < steps; ++iteration) {
    const double log_r = std::log(right), log_w = std::log(wrong);
    double below_right = 0, below_wrong = 0, right_gain = 0, wrong_gain = 0;
    for (const std::int32_t j : totals.classes()) {
      const double ease = s.shares.ease[static_cast<std::size_t>(j)], sum = right * ease + wrong;
      const double more = digamma(sum + totals[j]) - digamma(sum);
      below_right += ease * more;
      below_wrong += more;
    }
    s.for_counts([&](std::size_t j,
                     double n) { right_gain += fast_gain(right * s.shares.ease[j], log_r + s.shares.log_ease[j], n); },
                 [&](std::size_t, double n, std::size_t at) {
                   wrong_gain += fast_gain(wrong * s.shares.own.share[at], log_w + s.shares.log_share[at], n);
                 });
    const double k = kStrengthShape;
    const auto clamp = [](double x, double least) { return std::min(kLargestStrength, std::max(least, x)); };
    const double least_wrong = kLeastWrongPerClass * static_cast<double>(s.shares.J - 1);
    double log_right =
        std::log(clamp((right_gain + k) / (below_right + k / p.right_strength), kSmallestStrength) / right);
    double log_wrong = std::log(clamp((wrong_gain + k) / (below_wrong + k / p.wrong_strength), least_wrong) / wrong);
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

/// Refits which classes are hard for everybody; a class is changed only when its evidence does not fall.
void fit_ease(const ConfusionColumns& columns, const ConfusionCells& cells, Shares& shares,
              AbsenceAwareBeliefs& beliefs, int threads) {
  const std::vector<char> given = given_classes(beliefs);
  const std::size_t J = beliefs.classes, S = beliefs.source.size(), chunk_size = source_chunk(S);
  /// Sums over the active sources of body(source's right strength, its wrong strength, row, right count, two sums of
  /// j).
  const auto sums_by_class = [&](const auto& body) {
    std::vector<double> partial((S + chunk_size - 1) / chunk_size * J * 2, 0.0);
    parallel_chunks(S, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
      RowTotals totals(J);
      std::vector<double> right(J, 0.0);
      for (std::size_t k = begin; k < end; ++k) {
        const SourceBelief& b = beliefs.source[k];
        if (!b.active) continue;
        const SourceCounts counts{columns, cells, shares, k};
        totals.set(counts);
        counts.for_counts([&](std::size_t j, double n) { right[j] = n; }, [](std::size_t, double, std::size_t) {});
        for (const std::int32_t j : totals.classes()) {
          const auto at = static_cast<std::size_t>(j);
          body(b, at, right[at], totals[j], partial.data() + (chunk * J + at) * 2);
          right[at] = 0;
        }
      }
    });
    std::vector<double> sum(2 * J, 0.0);
    for (std::size_t n = 0; n < partial.size(); ++n) sum[n % (2 * J)] += partial[n];
    return sum;
  };
  const auto steps = sums_by_class([&](const SourceBelief& b, std::size_t j, double right, double all, double* sums) {
    const double r = b.right_strength * shares.ease[j], row = r + b.wrong_strength;
    if (right > 0) sums[0] += fast_gain(r, std::log(r), right);
    sums[1] += b.right_strength * (digamma(row + all) - digamma(row));
  });
  std::vector<double> next(J);
  const auto shape_of = [&](std::size_t j) { return given[j] != 0 ? beliefs.priors.ease_shape : kStrengthShape; };
  for (std::size_t j = 0; j < J; ++j) {
    next[j] = std::clamp((steps[2 * j] + shape_of(j)) / (steps[2 * j + 1] + shape_of(j)), kLeastEase, kMostEase);
  }
  const auto gains = sums_by_class([&](const SourceBelief& b, std::size_t j, double right, double all, double* sums) {
    const double before = b.right_strength * shares.ease[j], after = b.right_strength * next[j];
    if (right > 0) sums[0] += fast_rise(after, std::log(after), right) - fast_rise(before, std::log(before), right);
    sums[0] -= row_rise(after + b.wrong_strength, all) - row_rise(before + b.wrong_strength, all);
  });
  for (std::size_t j = 0; j < J; ++j) {
    const double here = log_ease_prior(shares.ease[j], shape_of(j)), there = log_ease_prior(next[j], shape_of(j));
    if (!(gains[2 * j] + there - here > 0)) continue;
    shares.ease[j] = next[j];
    shares.log_ease[j] = std::log(next[j]);
  }
  raise(beliefs.priors.ease_shape, kLeastEaseShape, kMostEaseShape,
        [&](double shape) { return log_ease_priors(beliefs, given, shape); });
}

/// Refits the crowd's shares; a row is changed only when its evidence does not fall.
void fit_shares(const ConfusionCells& cells, const ColumnsByLabel& by_label, Shares& shares,
                const AbsenceAwareBeliefs& beliefs, int threads) {
  const std::size_t J = beliefs.classes, chunk_size = 1 + J / 32;
  WrongShares& own = shares.own;
  std::vector<double> log_wrong(beliefs.source.size());
  for (std::size_t k = 0; k < log_wrong.size(); ++k) log_wrong[k] = std::log(beliefs.source[k].wrong_strength);
  /// Calls body(source, cell of the shares, count) for all counts of given class l but the right ones.
  const auto for_wrong = [&](std::size_t l, const auto& body) {
    for (std::size_t at = by_label.begin[l]; at < by_label.begin[l + 1]; ++at) {
      const std::size_t k = by_label.source[at], c = by_label.column[at];
      if (!beliefs.source[k].active) continue;
      for (std::size_t n = cells.begin[c]; n < cells.begin[c + 1]; ++n) {
        if (static_cast<std::size_t>(cells.true_class[n]) != l) body(k, shares.at[n], cells.count[n]);
      }
    }
  };
  std::vector<double> proposal(own.share.size(), 0.0);
  parallel_chunks(J, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t l = begin; l < end; ++l) {
      for_wrong(l, [&](std::size_t k, std::size_t at, double n) {
        proposal[at] +=
            fast_gain(beliefs.source[k].wrong_strength * own.share[at], log_wrong[k] + shares.log_share[at], n);
      });
    }
  });
  std::vector<double> total(J, static_cast<double>(J - 1)), others(J, static_cast<double>(J - 1)), floor(J);
  for (std::size_t at = 0; at < proposal.size(); ++at) {
    total[static_cast<std::size_t>(own.true_class[at])] += proposal[at];
    others[static_cast<std::size_t>(own.true_class[at])] -= 1;  // pairs without a cell
  }
  std::vector<double> log_floor(J), gain(J);
  for (std::size_t j = 0; j < J; ++j) {
    floor[j] = 1 / total[j];
    log_floor[j] = -std::log(total[j]);
    gain[j] = others[j] * (log_floor[j] - shares.log_floor[j]);
  }
  std::vector<double> log_proposal(proposal.size()), cell_gain(proposal.size());
  parallel_chunks(J, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t at = own.begin[begin]; at < own.begin[end]; ++at) {
      const auto j = static_cast<std::size_t>(own.true_class[at]);
      const bool counted = proposal[at] > 0;
      proposal[at] = (1 + proposal[at]) * floor[j];
      log_proposal[at] = counted ? std::log(proposal[at]) : log_floor[j];
      cell_gain[at] = log_proposal[at] - shares.log_share[at];
    }
    for (std::size_t l = begin; l < end; ++l) {
      for_wrong(l, [&](std::size_t k, std::size_t at, double n) {
        const double wrong = beliefs.source[k].wrong_strength;
        cell_gain[at] += fast_rise(wrong * proposal[at], log_wrong[k] + log_proposal[at], n) -
                         fast_rise(wrong * own.share[at], log_wrong[k] + shares.log_share[at], n);
      });
    }
  });
  for (std::size_t at = 0; at < proposal.size(); ++at) {
    gain[static_cast<std::size_t>(own.true_class[at])] += cell_gain[at];
  }
  for (std::size_t j = 0; j < J; ++j) {
    if (!(gain[j] > 0)) continue;
    own.floor[j] = floor[j];
    shares.log_floor[j] = log_floor[j];
  }
  for (std::size_t at = 0; at < proposal.size(); ++at) {
    if (!(gain[static_cast<std::size_t>(own.true_class[at])] > 0)) continue;
    own.share[at] = proposal[at];
    shares.log_share[at] = log_proposal[at];
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
      RowTotals totals(shares.J);
      double sum = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const SourceBelief& b = beliefs.source[k];
        if (!b.active) continue;
        const SourceCounts counts{columns, cells, shares, k};
        totals.set(counts);
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
  const ColumnsByLabel by_label(columns);
  Shares shares(cells, by_label, beliefs);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    parallel_chunks(S, source_chunk(S), threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      RowTotals totals(shares.J);
      for (std::size_t k = begin; k < end; ++k) {
        if (!beliefs.source[k].active) continue;
        fit_strengths({columns, cells, shares, k}, beliefs.priors, steps, totals, beliefs.source[k]);
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
    fit_ease(columns, cells, shares, beliefs, threads);
    if (beliefs.classes > 2) fit_shares(cells, by_label, shares, beliefs, threads);
  }
  if (scale) scale_strengths(columns, cells, shares, beliefs, threads);
}

void set_confusion_posteriors(const ConfusionCells& cells, AbsenceAwareBeliefs& beliefs, int threads,
                              const ConfusionEntries* needed) {
  const std::size_t J = beliefs.classes, S = beliefs.source.size();
  ConfusionColumns& columns = beliefs.log_confusion;
  const Shares shares(cells, ColumnsByLabel(columns), beliefs);
  const WrongShares& own = shares.own;
  const LogDigamma& psi = log_digamma();
  parallel_chunks(S, source_chunk(S), threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    RowTotals totals(J);
    std::vector<double> psi_sum(J), unseen(J);
    for (std::size_t k = begin; k < end; ++k) {
      SourceBelief& b = beliefs.source[k];
      totals.set({columns, cells, shares, k});
      const double right = b.right_strength, wrong = J > 1 ? b.wrong_strength : 0.0;
      const double log_wrong = wrong > 0 ? std::log(wrong) : 0.0, log_right = std::log(right);
      double divergence = 0;
      for (std::size_t j = 0; j < J; ++j) psi_sum[j] = psi(std::log(right * shares.ease[j] + wrong));
      for (const std::int32_t j : totals.classes()) {
        const double sum = right * shares.ease[static_cast<std::size_t>(j)] + wrong;
        psi_sum[static_cast<std::size_t>(j)] = digamma(sum + totals[j]);
        divergence += log_gamma_rise(sum, totals[j]);
      }
      for (std::size_t j = 0; needed == nullptr && j < J; ++j) {
        unseen[j] = J > 1 ? psi(log_wrong + shares.log_floor[j]) : 0.0;
      }
      for (std::size_t c = columns.begin[k]; c < columns.begin[k + 1]; ++c) {
        const auto l = static_cast<std::size_t>(columns.label[c]);
        double* column = columns.value.data() + c * J;
        // Where nothing was counted; then the counts.
        std::size_t cell = own.begin[l];
        const auto set_prior = [&](std::size_t j) {
          while (cell < own.begin[l + 1] && static_cast<std::size_t>(own.true_class[cell]) < j) ++cell;
          const bool has_cell = cell < own.begin[l + 1] && static_cast<std::size_t>(own.true_class[cell]) == j;
          column[j] = psi(log_wrong + (has_cell ? shares.log_share[cell] : shares.log_floor[j])) - psi_sum[j];
        };
        if (needed == nullptr) {
          for (std::size_t j = 0; j < J; ++j) column[j] = unseen[j] - psi_sum[j];
          for (; cell < own.begin[l + 1]; ++cell) set_prior(static_cast<std::size_t>(own.true_class[cell]));
        } else {
          std::size_t at = cells.begin[c];
          for (std::size_t n = needed->begin[c]; n < needed->begin[c + 1]; ++n) {
            while (at < cells.begin[c + 1] && cells.true_class[at] < needed->true_class[n]) ++at;
            const bool counted = at < cells.begin[c + 1] && cells.true_class[at] == needed->true_class[n];
            if (!counted) set_prior(static_cast<std::size_t>(needed->true_class[n]));
          }
        }
        column[l] = psi(log_right + shares.log_ease[l]) - psi_sum[l];
        for (std::size_t at = cells.begin[c]; at < cells.begin[c + 1]; ++at) {
          const auto j = static_cast<std::size_t>(cells.true_class[at]);
          const double n = cells.count[at], w = j == l ? right * shares.ease[j] : wrong * own.share[shares.at[at]];
          const double log_w = j == l ? log_right + shares.log_ease[j] : log_wrong + shares.log_share[shares.at[at]];
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
  result += log_ease_priors(beliefs, given_classes(beliefs), beliefs.priors.ease_shape);
  const WrongShares& shares = beliefs.priors.wrong_share;
  const std::size_t J = beliefs.classes;
  std::vector<double> others(J, static_cast<double>(J - 1));  // pairs without a cell
  double product = 1;                                         // of shares, never so small that it is rounded to 0
  for (std::size_t n = 0; n < shares.share.size(); ++n) {
    others[static_cast<std::size_t>(shares.true_class[n])] -= 1;
    product *= shares.share[n];
    if (product > 1e-200) continue;
    result += std::log(product);
    product = 1;
  }
  for (std::size_t j = 0; j < J; ++j) result += others[j] * std::log(shares.floor[j]);
  return result + std::log(product);
}

}  // namespace bdc::absence_aware
