#include <algorithm>
#include <cmath>
#include <numeric>

#include "bdc/base/parallel.h"
#include "bdc/base/special_functions.h"
#include "learn/bdc/absence_aware/gamma_sums.h"
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

/// In the place of a share's cell: the count is one of right labels.
constexpr std::uint32_t kRight = 0xffffffffU;

/// The crowd's part of the prior, with logarithms. Every pair of classes with a count has a cell of its own.
struct Shares {
  std::size_t J;
  WrongShares& own;
  std::vector<double>& ease;
  std::vector<double> log_share, log_floor;
  std::vector<std::uint32_t> at;  ///< per count: its cell among the shares, or kRight

  Shares(const ConfusionCells& counts, const ColumnsByLabel& by_label, AbsenceAwareBeliefs& beliefs)
      : J(beliefs.classes),
        own(beliefs.priors.wrong_share),
        ease(beliefs.priors.ease),
        at(counts.count.size(), kRight) {
    add_cells(counts, by_label);
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

/// All sources' counts and the prior's shares.
struct Counts {
  const ConfusionColumns& columns;
  const ConfusionCells& cells;
  const Shares& shares;
  std::vector<std::size_t> total_begin{0};  ///< per source + 1, into the next two
  std::vector<std::int32_t> total_class;    ///< true classes with a count, ascending
  std::vector<double> total;                ///< a source's counts of a true class

  Counts(const ConfusionColumns& all_columns, const ConfusionCells& all_cells, const Shares& all_shares)
      : columns(all_columns), cells(all_cells), shares(all_shares) {
    std::vector<double> sum(columns.num_classes, 0.0);
    std::vector<std::int32_t> classes;
    for (std::size_t k = 0; k < columns.num_annotators(); ++k) {
      classes.clear();
      for (std::size_t n = first(k); n < first(k + 1); ++n) {
        double& here = sum[static_cast<std::size_t>(cells.true_class[n])];
        if (here == 0) classes.push_back(cells.true_class[n]);
        here += cells.count[n];
      }
      std::sort(classes.begin(), classes.end());
      for (const std::int32_t j : classes) {
        total_class.push_back(j);
        total.push_back(sum[static_cast<std::size_t>(j)]);
        sum[static_cast<std::size_t>(j)] = 0;
      }
      total_begin.push_back(total.size());
    }
  }
  /// Of source k's cells, which lie together.
  [[nodiscard]] std::size_t first(std::size_t k) const { return cells.begin[columns.begin[k]]; }
};

/// One source's counts, with room to work in.
class SourceCounts {
 public:
  SourceCounts(const Counts& all, std::size_t k)
      : all_(all),
        true_class_(all.cells.true_class.data() + all.first(k)),
        count_(all.cells.count.data() + all.first(k)),
        at_(all.shares.at.data() + all.first(k)),
        size_(all.first(k + 1) - all.first(k)),
        total_class_(all.total_class.data() + all.total_begin[k]),
        total_(all.total.data() + all.total_begin[k]),
        totals_(all.total_begin[k + 1] - all.total_begin[k]) {
    weight_.resize(size_);
    gain_.resize(size_);
    row_.resize(totals_);
    row_gain_.resize(totals_);
  }

  /// Sums over the counts of the rises that Dirichlet-multinomial evidence is made of.
  [[nodiscard]] double rises(double right, double wrong) {
    set_weights(right, wrong);
    return sum_of_rises(weight_.data(), 1.0, count_, size_) - sum_of_rises(row_.data(), 1.0, total_, totals_);
  }
  struct Gains {
    double right = 0, wrong = 0;
    double below_right = 0, below_wrong = 0;  ///< of the rows' sums, times d sum / d strength
  };
  [[nodiscard]] Gains gains_at(double right, double wrong) {
    set_weights(right, wrong);
    gains(weight_.data(), count_, size_, gain_.data());
    Gains out;
    for (std::size_t n = 0; n < size_; ++n) (at_[n] == kRight ? out.right : out.wrong) += gain_[n];
    gains(row_.data(), total_, totals_, row_gain_.data());
    for (std::size_t n = 0; n < totals_; ++n) {
      const double below = row_gain_[n] / row_[n];
      out.below_right += ease_of(total_class_[n]) * below;
      out.below_wrong += below;
    }
    return out;
  }
  /// Adds what a fixed-point step of the ease of classes needs, by class: gains of right counts, and of the rows' sums.
  void add_ease_gains(double right, double wrong, double* above, double* below) {
    set_weights(right, wrong);
    gains(weight_.data(), count_, size_, gain_.data());
    gains(row_.data(), total_, totals_, row_gain_.data());
    for (std::size_t n = 0; n < size_; ++n) {
      if (at_[n] == kRight) above[true_class_[n]] += std::max(0.0, gain_[n]);
    }
    for (std::size_t n = 0; n < totals_; ++n) below[total_class_[n]] += right * row_gain_[n] / row_[n];
  }
  /// Adds by how much the evidence would rise with another ease of classes, by class.
  void add_ease_changes(double right, double wrong, const std::vector<double>& next, double* change) {
    set_weights(right, wrong);
    next_.assign(weight_.begin(), weight_.end());
    for (std::size_t n = 0; n < size_; ++n) {
      if (at_[n] == kRight) next_[n] = right * next[static_cast<std::size_t>(true_class_[n])];
    }
    rise_changes(weight_.data(), next_.data(), count_, size_, gain_.data());
    for (std::size_t n = 0; n < size_; ++n) {
      if (at_[n] == kRight) change[true_class_[n]] += gain_[n];
    }
    next_.resize(totals_);
    for (std::size_t n = 0; n < totals_; ++n) {
      next_[n] = right * next[static_cast<std::size_t>(total_class_[n])] + wrong;
    }
    rise_changes(row_.data(), next_.data(), total_, totals_, row_gain_.data());
    for (std::size_t n = 0; n < totals_; ++n) change[total_class_[n]] -= row_gain_[n];
  }

 private:
  void set_weights(double right, double wrong) {
    const double* share = all_.shares.own.share.data();
    for (std::size_t n = 0; n < size_; ++n) {
      weight_[n] = at_[n] == kRight ? right * ease_of(true_class_[n]) : wrong * share[at_[n]];
    }
    for (std::size_t n = 0; n < totals_; ++n) row_[n] = right * ease_of(total_class_[n]) + wrong;
  }
  [[nodiscard]] double ease_of(std::int32_t j) const { return all_.shares.ease[static_cast<std::size_t>(j)]; }

  const Counts& all_;
  const std::int32_t* true_class_;
  const double* count_;
  const std::uint32_t* at_;
  std::size_t size_;
  const std::int32_t* total_class_;
  const double* total_;
  std::size_t totals_;
  std::vector<double> weight_, gain_, row_, row_gain_, next_;
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

/// Dirichlet-multinomial log evidence of a source's counts plus the prior of its two strengths.
double log_evidence(SourceCounts& counts, double right, double wrong, const AbsenceAwarePriors& p) {
  return log_strength_prior(right, p.right_strength) + log_strength_prior(wrong, p.wrong_strength) +
         counts.rises(right, wrong);
}

/// A step on the logarithm of a strength: a fixed-point step, made longer by how much the last one has shortened it.
class Step {
 public:
  [[nodiscard]] double longer(double fixed_point) const {
    constexpr double kLongest = 8;
    const double shorter = last_fixed_point_ - fixed_point;
    const double factor = shorter == 0 ? 1.0 : taken_ / shorter;
    return fixed_point * std::clamp(std::isfinite(factor) ? factor : 1.0, 1.0, kLongest);
  }
  void keep(double fixed_point, double taken) {
    last_fixed_point_ = fixed_point;
    taken_ = taken;
  }

 private:
  double last_fixed_point_ = 0, taken_ = 0;
};

/// Steps for both strengths, each shortened until the evidence does not fall.
void fit_strengths(SourceCounts& counts, double least_wrong, const AbsenceAwarePriors& p, int steps,
                   SourceBelief& belief) {
  constexpr double k = kStrengthShape;
  const auto clamp = [](double x, double least) { return std::min(kLargestStrength, std::max(least, x)); };
  double right = belief.right_strength, wrong = belief.wrong_strength;
  double here = log_evidence(counts, right, wrong, p);
  Step right_step, wrong_step;
  for (int iteration = 0; iteration < steps; ++iteration) {
    const SourceCounts::Gains gain = counts.gains_at(right, wrong);
    const double log_right =
        std::log(clamp((gain.right + k) / (gain.below_right + k / p.right_strength), kSmallestStrength) / right);
    const double log_wrong =
        std::log(clamp((gain.wrong + k) / (gain.below_wrong + k / p.wrong_strength), least_wrong) / wrong);
    bool taken = false;
    for (int attempt = iteration == 0 ? 1 : 0; attempt < 4 && !taken; ++attempt) {
      const double part = attempt == 0 ? 1.0 : 2.0 / static_cast<double>(1 << attempt);
      const double r =
          clamp(right * std::exp(attempt == 0 ? right_step.longer(log_right) : part * log_right), kSmallestStrength);
      const double w =
          clamp(wrong * std::exp(attempt == 0 ? wrong_step.longer(log_wrong) : part * log_wrong), least_wrong);
      const double there = log_evidence(counts, r, w, p);
      if (!(there >= here)) continue;
      right_step.keep(log_right, std::log(r / right));
      wrong_step.keep(log_wrong, std::log(w / wrong));
      right = r;
      wrong = w;
      here = there;
      taken = true;
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
void fit_ease(const Counts& counts, Shares& shares, AbsenceAwareBeliefs& beliefs, int threads) {
  const std::vector<char> given = given_classes(beliefs);
  const std::size_t J = beliefs.classes, S = beliefs.source.size(), chunk_size = source_chunk(S);
  /// Sums over the active sources of body(source, its counts, sums of J each), in the order of chunks.
  const auto sums_by_class = [&](const auto& body) {
    std::vector<double> partial((S + chunk_size - 1) / chunk_size * 2 * J, 0.0);
    parallel_chunks(S, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
      double* sums = partial.data() + chunk * 2 * J;
      for (std::size_t k = begin; k < end; ++k) {
        if (!beliefs.source[k].active) continue;
        SourceCounts own(counts, k);
        body(beliefs.source[k], own, sums, sums + J);
      }
    });
    std::vector<double> sum(2 * J, 0.0);
    for (std::size_t n = 0; n < partial.size(); ++n) sum[n % (2 * J)] += partial[n];
    return sum;
  };
  const auto gains = sums_by_class([](const SourceBelief& b, SourceCounts& own, double* above, double* below) {
    own.add_ease_gains(b.right_strength, b.wrong_strength, above, below);
  });
  const auto shape_of = [&](std::size_t j) { return given[j] != 0 ? beliefs.priors.ease_shape : kStrengthShape; };
  std::vector<double> next(J);
  for (std::size_t j = 0; j < J; ++j) {
    next[j] = std::clamp((gains[j] + shape_of(j)) / (gains[J + j] + shape_of(j)), kLeastEase, kMostEase);
  }
  const auto change = sums_by_class([&](const SourceBelief& b, SourceCounts& own, double* sums, double*) {
    own.add_ease_changes(b.right_strength, b.wrong_strength, next, sums);
  });
  for (std::size_t j = 0; j < J; ++j) {
    const double here = log_ease_prior(shares.ease[j], shape_of(j)), there = log_ease_prior(next[j], shape_of(j));
    if (change[j] + there - here > 0) shares.ease[j] = next[j];
  }
  raise(beliefs.priors.ease_shape, kLeastEaseShape, kMostEaseShape,
        [&](double shape) { return log_ease_priors(beliefs, given, shape); });
}

/// The wrong counts of one given class, each with the cell of its share and the strength of its source.
struct WrongCounts {
  std::vector<std::uint32_t> at;
  std::vector<double> wrong, count, weight, proposed, result;
  void set(std::size_t l, const ConfusionCells& cells, const ColumnsByLabel& by_label, const Shares& shares,
           const std::vector<SourceBelief>& sources) {
    at.clear(), wrong.clear(), count.clear(), weight.clear();
    for (std::size_t n = by_label.begin[l]; n < by_label.begin[l + 1]; ++n) {
      const SourceBelief& source = sources[by_label.source[n]];
      if (!source.active) continue;
      const std::size_t c = by_label.column[n];
      for (std::size_t cell = cells.begin[c]; cell < cells.begin[c + 1]; ++cell) {
        if (static_cast<std::size_t>(cells.true_class[cell]) == l) continue;
        at.push_back(shares.at[cell]);
        wrong.push_back(source.wrong_strength);
        count.push_back(cells.count[cell]);
        weight.push_back(source.wrong_strength * shares.own.share[shares.at[cell]]);
      }
    }
    result.resize(at.size());
  }
};

/// Refits the crowd's shares; a row is changed only when its evidence does not fall.
void fit_shares(const ConfusionCells& cells, const ColumnsByLabel& by_label, Shares& shares,
                const AbsenceAwareBeliefs& beliefs, int threads) {
  const std::size_t J = beliefs.classes, chunk_size = 1 + J / 32;
  WrongShares& own = shares.own;
  std::vector<double> proposal(own.share.size(), 0.0);
  parallel_chunks(J, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    WrongCounts counts;
    for (std::size_t l = begin; l < end; ++l) {
      counts.set(l, cells, by_label, shares, beliefs.source);
      gains(counts.weight.data(), counts.count.data(), counts.at.size(), counts.result.data());
      for (std::size_t n = 0; n < counts.at.size(); ++n) proposal[counts.at[n]] += std::max(0.0, counts.result[n]);
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
    WrongCounts counts;
    for (std::size_t l = begin; l < end; ++l) {
      counts.set(l, cells, by_label, shares, beliefs.source);
      counts.proposed.resize(counts.at.size());
      for (std::size_t n = 0; n < counts.at.size(); ++n) counts.proposed[n] = counts.wrong[n] * proposal[counts.at[n]];
      rise_changes(counts.weight.data(), counts.proposed.data(), counts.count.data(), counts.at.size(),
                   counts.result.data());
      for (std::size_t n = 0; n < counts.at.size(); ++n) cell_gain[counts.at[n]] += counts.result[n];
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
/// Whether any other factor than 1 was taken.
bool scale_strengths(const Counts& counts, AbsenceAwareBeliefs& beliefs, int threads) {
  const std::size_t S = beliefs.source.size(), chunk_size = source_chunk(S);
  double least = kLargestStrength, most = kSmallestStrength, least_wrong = kLargestStrength;
  for (const SourceBelief& b : beliefs.source) {
    if (!b.active) continue;
    least = std::min(least, b.right_strength);
    least_wrong = std::min(least_wrong, b.wrong_strength);
    most = std::max({most, b.right_strength, b.wrong_strength});
  }
  const double low = std::max(std::log(kSmallestStrength / least),
                              std::log(kLeastWrongPerClass * static_cast<double>(beliefs.classes - 1) / least_wrong));
  const double high = std::log(kLargestStrength / most);
  if (!(low <= 0 && high >= 0)) return false;
  std::vector<double> partial((S + chunk_size - 1) / chunk_size);
  const auto evidence_at = [&](double log_factor) {
    const double factor = std::exp(log_factor);
    AbsenceAwarePriors scaled;  // the typical strengths alone are looked at
    scaled.right_strength = beliefs.priors.right_strength * factor;
    scaled.wrong_strength = beliefs.priors.wrong_strength * factor;
    parallel_chunks(S, chunk_size, threads, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
      double sum = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const SourceBelief& b = beliefs.source[k];
        if (!b.active) continue;
        SourceCounts own(counts, k);
        sum += log_evidence(own, b.right_strength * factor, b.wrong_strength * factor, scaled);
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
  if (at == 0) return false;
  const double factor = std::exp(at);
  for (SourceBelief& b : beliefs.source) {
    if (!b.active) continue;
    b.right_strength *= factor;
    b.wrong_strength *= factor;
  }
  beliefs.priors.right_strength *= factor;
  beliefs.priors.wrong_strength *= factor;
  return true;
}

}  // namespace

bool is_huge(const ConfusionColumns& counts) {
  return counts.value.size() > 10'000'000;
}

bool is_large(const ConfusionCells& counts, std::size_t classes) {
  return counts.count.size() + classes * classes > 200'000;
}

namespace {

/// So many pairs of classes, or fewer, have their shares held dense.
constexpr std::size_t kDensePairs = 65536;

/// Sets E[ln pi] of one column's entries where the shares are held dense: of the classes given, ascending, among them
/// all with a count. Returns the sum of counts times entries.
class DenseColumn {
 public:
  double set(const Counts& counts, std::size_t c, double right, double wrong, const double* share,
             Span<const std::int32_t> classes, const std::vector<double>& psi_sum, double* column) {
    const ConfusionCells& cells = counts.cells;
    const std::int32_t label = counts.columns.label[c];
    weight_.resize(classes.size());
    psi_.resize(classes.size());
    std::size_t cell = cells.begin[c];
    for (std::size_t n = 0; n < classes.size(); ++n) {
      const std::int32_t j = classes[n];
      const bool counted = cell < cells.begin[c + 1] && cells.true_class[cell] == j;
      weight_[n] = (j == label ? right : wrong * share[j]) + (counted ? cells.count[cell] : 0.0);
      cell += counted ? 1 : 0;
    }
    digammas(weight_.data(), classes.size(), psi_.data());
    for (std::size_t n = 0; n < classes.size(); ++n) {
      const auto j = static_cast<std::size_t>(classes[n]);
      column[j] = psi_[n] - psi_sum[j];
    }
    double sum = 0;
    for (cell = cells.begin[c]; cell < cells.begin[c + 1]; ++cell) {
      sum += cells.count[cell] * column[cells.true_class[cell]];
    }
    return sum;
  }

 private:
  std::vector<double> weight_, psi_;
};

/// The shares, [given class * J + true class].
std::vector<double> dense_shares(const WrongShares& own, std::size_t J) {
  std::vector<double> out(J * J);
  for (std::size_t l = 0; l < J; ++l) {
    std::copy(own.floor.begin(), own.floor.end(), out.begin() + static_cast<std::ptrdiff_t>(l * J));
    for (std::size_t n = own.begin[l]; n < own.begin[l + 1]; ++n) {
      out[l * J + static_cast<std::size_t>(own.true_class[n])] = own.share[n];
    }
  }
  return out;
}

}  // namespace

bool fit_confusion_priors(const ConfusionColumns& columns, const ConfusionCells& cells, AbsenceAwareBeliefs& beliefs,
                          bool scale, int threads) {
  if (beliefs.classes < 2) return false;
  const std::size_t S = beliefs.source.size();
  const bool large = is_large(cells, beliefs.classes);
  const int iterations = large ? 1 : 2, steps = large ? 2 : 3;
  const double least_wrong = kLeastWrongPerClass * static_cast<double>(beliefs.classes - 1);
  const ColumnsByLabel by_label(columns);
  Shares shares(cells, by_label, beliefs);
  const Counts counts(columns, cells, shares);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    parallel_chunks(S, source_chunk(S), threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t k = begin; k < end; ++k) {
        if (!beliefs.source[k].active) continue;
        SourceCounts own(counts, k);
        fit_strengths(own, least_wrong, beliefs.priors, steps, beliefs.source[k]);
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
    fit_ease(counts, shares, beliefs, threads);
    if (beliefs.classes > 2) fit_shares(cells, by_label, shares, beliefs, threads);
  }
  return scale && scale_strengths(counts, beliefs, threads);
}

void set_confusion_posteriors(const ConfusionCells& cells, AbsenceAwareBeliefs& beliefs, int threads,
                              const ConfusionEntries* needed) {
  const std::size_t J = beliefs.classes, S = beliefs.source.size();
  ConfusionColumns& columns = beliefs.log_confusion;
  const Shares shares(cells, ColumnsByLabel(columns), beliefs);
  const Counts counts(columns, cells, shares);
  const WrongShares& own = shares.own;
  const LogDigamma& psi = log_digamma();
  const std::vector<double> dense = J * J <= kDensePairs ? dense_shares(own, J) : std::vector<double>();
  std::vector<std::int32_t> all_classes(dense.empty() ? 0 : J);
  std::iota(all_classes.begin(), all_classes.end(), 0);
  parallel_chunks(S, source_chunk(S), threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    DenseColumn dense_column;
    std::vector<double> row(J), psi_sum(J), unseen(J), weight, expected;
    for (std::size_t k = begin; k < end; ++k) {
      SourceBelief& b = beliefs.source[k];
      const double right = b.right_strength, wrong = J > 1 ? b.wrong_strength : 0.0;
      const double log_wrong = wrong > 0 ? std::log(wrong) : 0.0;
      double divergence = -SourceCounts(counts, k).rises(right, wrong);
      for (std::size_t j = 0; j < J; ++j) row[j] = right * shares.ease[j] + wrong;
      for (std::size_t n = counts.total_begin[k]; n < counts.total_begin[k + 1]; ++n) {
        row[static_cast<std::size_t>(counts.total_class[n])] += counts.total[n];
      }
      digammas(row.data(), J, psi_sum.data());
      const std::size_t first_column = columns.begin[k], last_column = columns.begin[k + 1];
      for (std::size_t c = first_column; !dense.empty() && c < last_column; ++c) {
        const auto l = static_cast<std::size_t>(columns.label[c]);
        const Span<const std::int32_t> classes =
            needed == nullptr ? Span<const std::int32_t>(all_classes)
                              : Span<const std::int32_t>(needed->true_class.data() + needed->begin[c],
                                                         needed->begin[c + 1] - needed->begin[c]);
        divergence += dense_column.set(counts, c, right * shares.ease[l], wrong, dense.data() + l * J, classes, psi_sum,
                                       columns.value.data() + c * J);
      }
      if (!dense.empty()) {
        b.confusion_divergence = divergence;
        continue;
      }
      const bool many = needed == nullptr || needed->begin[last_column] - needed->begin[first_column] > 2 * J;
      for (std::size_t j = 0; many && j < J; ++j) unseen[j] = J > 1 ? psi(log_wrong + shares.log_floor[j]) : 0.0;
      for (std::size_t c = first_column; c < last_column; ++c) {
        const auto l = static_cast<std::size_t>(columns.label[c]);
        double* column = columns.value.data() + c * J;
        // Where nothing was counted; then the counts.
        std::size_t cell = own.begin[l];
        const auto set_prior = [&](std::size_t j) {
          while (cell < own.begin[l + 1] && static_cast<std::size_t>(own.true_class[cell]) < j) ++cell;
          const bool has_cell = cell < own.begin[l + 1] && static_cast<std::size_t>(own.true_class[cell]) == j;
          column[j] = (has_cell ? psi(log_wrong + shares.log_share[cell])
                       : many   ? unseen[j]
                                : psi(log_wrong + shares.log_floor[j])) -
                      psi_sum[j];
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
        column[l] = psi(std::log(right * shares.ease[l])) - psi_sum[l];
        const std::size_t first = cells.begin[c], count = cells.begin[c + 1] - first;
        weight.resize(count), expected.resize(count);
        for (std::size_t n = 0; n < count; ++n) {
          const bool is_right = cells.true_class[first + n] == columns.label[c];
          weight[n] =
              (is_right ? right * shares.ease[l] : wrong * own.share[shares.at[first + n]]) + cells.count[first + n];
        }
        digammas(weight.data(), count, expected.data());
        for (std::size_t n = 0; n < count; ++n) {
          const auto j = static_cast<std::size_t>(cells.true_class[first + n]);
          column[j] = expected[n] - psi_sum[j];
          divergence += cells.count[first + n] * column[j];
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
