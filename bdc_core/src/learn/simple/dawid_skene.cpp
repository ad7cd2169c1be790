#include "bdc/learn/simple/dawid_skene.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace bdc {
namespace {

constexpr int kMostRounds = 100;
constexpr double kSettled = 0.001;

bool before(const ClassVote& a, const ClassVote& b) {
  return a.annotator != b.annotator ? a.annotator < b.annotator : a.label < b.label;
}

/// Numbers per class that are added up, then taken out in the order of classes.
class Tally {
 public:
  explicit Tally(std::size_t classes) : sum_(classes, 0.0) {}
  void add(std::int32_t c, double value) {
    double& sum = sum_[static_cast<std::size_t>(c)];
    if (sum == 0) seen_.push_back(c);
    sum += value;
  }
  [[nodiscard]] double at(std::int32_t c) const { return sum_[static_cast<std::size_t>(c)]; }
  std::vector<std::pair<std::int32_t, double>> take() {
    std::sort(seen_.begin(), seen_.end());
    std::vector<std::pair<std::int32_t, double>> out;
    out.reserve(seen_.size());
    for (const std::int32_t c : seen_) out.emplace_back(c, std::exchange(sum_[static_cast<std::size_t>(c)], 0.0));
    seen_.clear();
    return out;
  }
  void clear() { (void)take(); }

 private:
  std::vector<double> sum_;
  std::vector<std::int32_t> seen_;
};

double value_at(const std::vector<std::pair<std::int32_t, double>>& sparse, std::int32_t c) {
  const auto at = std::lower_bound(sparse.begin(), sparse.end(), c,
                                   [](const auto& entry, std::int32_t wanted) { return entry.first < wanted; });
  return at != sparse.end() && at->first == c ? at->second : 0.0;
}

}  // namespace

DawidSkene::DawidSkene(Span<const ClassVote> votes, Span<const std::size_t> begin, std::size_t classes)
    : classes_(classes), marginals_(classes, 0.0) {
  if (begin.size() < 2 || votes.empty()) return;
  find_columns(votes, begin);
  Tally tally(classes);
  for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
    const double share = 1.0 / static_cast<double>(std::max<std::size_t>(1, begin[g + 1] - begin[g]));
    for (std::size_t v = begin[g]; v < begin[g + 1]; ++v) tally.add(votes[v].label, share);
    truth_.push_back(tally.take());
  }
  bool is_settled = false;
  while (!is_settled && rounds_ <= kMostRounds) {
    std::vector<Sparse> rates;
    rates.reserve(columns_.size());
    for (Column& column : columns_) rates.push_back(std::move(column.rate));
    const std::vector<double> marginals = marginals_;
    ++rounds_;
    maximise();
    expect(begin);
    is_settled = rounds_ > 1 && change(rates, marginals) < kSettled;
  }
}

double DawidSkene::accuracy(ClassVote vote) const {
  const auto at = std::lower_bound(columns_.begin(), columns_.end(), vote,
                                   [](const Column& column, const ClassVote& v) { return before(column.vote, v); });
  if (at == columns_.end() || before(vote, at->vote)) return 0;
  return value_at(at->rate, vote.label);
}

void DawidSkene::find_columns(Span<const ClassVote> votes, Span<const std::size_t> begin) {
  std::vector<std::size_t> order(votes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return before(votes[a], votes[b]); });
  std::vector<std::size_t> object(votes.size());
  for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
    for (std::size_t v = begin[g]; v < begin[g + 1]; ++v) object[v] = g;
  }
  column_of_vote_.resize(votes.size());
  for (const std::size_t v : order) {
    if (columns_.empty() || before(columns_.back().vote, votes[v])) columns_.push_back({votes[v], {}, {}});
    columns_.back().objects.push_back(object[v]);
    column_of_vote_[v] = columns_.size() - 1;
  }
}

void DawidSkene::maximise() {
  std::fill(marginals_.begin(), marginals_.end(), 0.0);
  for (const Sparse& t : truth_) {
    for (const auto& [c, p] : t) marginals_[static_cast<std::size_t>(c)] += p;
  }
  for (double& m : marginals_) m /= static_cast<double>(truth_.size());

  Tally tally(classes_), row(classes_);
  for (std::size_t first = 0, end = 0; first < columns_.size(); first = end) {
    while (end < columns_.size() && columns_[end].vote.annotator == columns_[first].vote.annotator) {
      for (const std::size_t g : columns_[end].objects) {
        for (const auto& [c, p] : truth_[g]) tally.add(c, p);
      }
      columns_[end].rate = tally.take();
      for (const auto& [c, count] : columns_[end].rate) row.add(c, count);
      ++end;
    }
    for (std::size_t k = first; k < end; ++k) {
      for (auto& [c, count] : columns_[k].rate) count /= row.at(c);
    }
    row.clear();
  }
}

void DawidSkene::expect(Span<const std::size_t> begin) {
  for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
    Sparse& truth = truth_[g];
    truth.clear();
    if (begin[g] == begin[g + 1]) continue;
    std::size_t fewest = column_of_vote_[begin[g]];
    for (std::size_t v = begin[g]; v < begin[g + 1]; ++v) {
      if (columns_[column_of_vote_[v]].rate.size() < columns_[fewest].rate.size()) fewest = column_of_vote_[v];
    }
    double sum = 0;
    for (const auto& [c, rate] : columns_[fewest].rate) {
      double p = marginals_[static_cast<std::size_t>(c)];
      for (std::size_t v = begin[g]; v < begin[g + 1] && p > 0; ++v)
        p *= value_at(columns_[column_of_vote_[v]].rate, c);
      if (!(p > 0)) continue;
      truth.emplace_back(c, p);
      sum += p;
    }
    // What is left out is below the precision of the sum.
    const auto is_nothing = [&](const auto& entry) { return !(entry.second > 1e-17 * sum); };
    truth.erase(std::remove_if(truth.begin(), truth.end(), is_nothing), truth.end());
    for (auto& [c, p] : truth) p /= sum;
  }
}

double DawidSkene::change(const std::vector<Sparse>& rates, const std::vector<double>& marginals) const {
  double of_marginals = 0, of_rates = 0;
  for (std::size_t c = 0; c < classes_; ++c) of_marginals += std::abs(marginals_[c] - marginals[c]);
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    for (const auto& [c, rate] : columns_[k].rate) of_rates += std::abs(rate - value_at(rates[k], c));
    for (const auto& [c, rate] : rates[k]) {
      if (value_at(columns_[k].rate, c) == 0) of_rates += rate;
    }
  }
  return std::max(of_marginals, of_rates);
}

}  // namespace bdc
