#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bdc/base/span.h"

namespace bdc {

/// Somebody's word on an object's class.
struct ClassVote {
  std::int32_t annotator = 0, label = 0;
};

/// How often annotators are right, by the algorithm of Dawid and Skene (1979): expectation maximisation over the true
/// classes of objects, with a confusion matrix per annotator and a share per class, each at its maximum of likelihood.
/// It begins with the shares of the votes and ends when marginals and confusions change by less than 0.001 in all, or
/// after 100 rounds. Cost follows the votes and the confusions that occur, not annotators x classes squared.
class DawidSkene {
 public:
  /// Votes on object g are votes[begin[g]] to votes[begin[g + 1]].
  DawidSkene(Span<const ClassVote> votes, Span<const std::size_t> begin, std::size_t classes);

  /// The share of objects of class `label` that this annotator calls so; 0 when there are none.
  [[nodiscard]] double accuracy(ClassVote vote) const;
  [[nodiscard]] int rounds() const { return rounds_; }

 private:
  /// (class, number), by class.
  using Sparse = std::vector<std::pair<std::int32_t, double>>;
  struct Column {
    ClassVote vote;
    std::vector<std::size_t> objects;  ///< that got this vote, as often as they got it
    Sparse rate;                       ///< by true class
  };

  void find_columns(Span<const ClassVote> votes, Span<const std::size_t> begin);
  void maximise();
  void expect(Span<const std::size_t> begin);
  [[nodiscard]] double change(const std::vector<Sparse>& rates, const std::vector<double>& marginals) const;

  std::size_t classes_;
  std::vector<Column> columns_;              ///< by annotator, then label
  std::vector<std::size_t> column_of_vote_;  ///< by place in the list of votes
  std::vector<Sparse> truth_;                ///< of each object
  std::vector<double> marginals_;
  int rounds_ = 0;
};

}  // namespace bdc
