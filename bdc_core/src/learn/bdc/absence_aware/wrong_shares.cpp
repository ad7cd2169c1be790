#include "bdc/learn/bdc/wrong_shares.h"

#include <algorithm>

namespace bdc {

WrongShares WrongShares::even(std::size_t classes) {
  WrongShares out;
  out.floor.assign(classes, classes > 1 ? 1.0 / static_cast<double>(classes - 1) : 0.0);
  out.begin.assign(classes + 1, 0);
  return out;
}

WrongShares WrongShares::from_dense(const std::vector<double>& dense) {
  std::size_t J = 0;
  while (J * J < dense.size()) ++J;
  WrongShares out = even(J);
  for (std::size_t l = 0; l < J && J > 1; ++l) {
    for (std::size_t j = 0; j < J; ++j) {
      if (j != l) out.floor[j] = std::min(out.floor[j], dense[l * J + j]);
    }
  }
  for (std::size_t l = 0; l < J; ++l) {
    for (std::size_t j = 0; j < J; ++j) {
      if (j == l || !(dense[l * J + j] > out.floor[j])) continue;
      out.true_class.push_back(static_cast<std::int32_t>(j));
      out.share.push_back(dense[l * J + j]);
    }
    out.begin[l + 1] = out.share.size();
  }
  return out;
}

std::vector<double> WrongShares::dense() const {
  const std::size_t J = classes();
  std::vector<double> out(J * J);
  for (std::size_t l = 0; l < J; ++l) {
    std::copy(floor.begin(), floor.end(), out.begin() + static_cast<std::ptrdiff_t>(l * J));
    for (std::size_t n = begin[l]; n < begin[l + 1]; ++n)
      out[l * J + static_cast<std::size_t>(true_class[n])] = share[n];
    out[l * J + l] = 0;
  }
  return out;
}

}  // namespace bdc
