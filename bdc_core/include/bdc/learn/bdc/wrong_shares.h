#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bdc {

/// How the wrong weight of a true class j is spread over the given classes l != j; over l it sums to 1. Pairs of
/// classes that nobody ever mixed up all have the same share of a row, its floor, and are not stored: memory follows
/// the annotations, not J x J.
///
/// Cells of given class l: begin[l] <= n < begin[l+1], true classes ascending, none equal to l.
struct WrongShares {
  std::vector<double> floor;       ///< J: the share of every pair that has no cell
  std::vector<std::size_t> begin;  ///< J + 1
  std::vector<std::int32_t> true_class;
  std::vector<double> share;

  /// The same share for all pairs.
  [[nodiscard]] static WrongShares even(std::size_t classes);
  /// From J x J numbers, [l * J + j]; those on the diagonal are ignored.
  [[nodiscard]] static WrongShares from_dense(const std::vector<double>& dense);
  /// J x J, 0 on the diagonal.
  [[nodiscard]] std::vector<double> dense() const;
  [[nodiscard]] std::size_t classes() const { return floor.size(); }
};

}  // namespace bdc
