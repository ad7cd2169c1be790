#pragma once

#include <functional>

#include "parts/boxes.h"

namespace parts {

/// Draws a fixed number of boxes of an image, with at most a given share of positives; negatives fill the rest.
/// Drawn by permutations from LibTorch's default generator: positives first, then negatives.
struct BalancedSampler {
  std::int64_t per_image = 256;
  double positive_share = 0.5;
  /// 0..n-1 in the order of drawing, int64 on the CPU. Replace it by arange to take the first ones (tests).
  std::function<Tensor(std::int64_t n)> permutation = random_permutation;

  struct Drawn {
    Tensor positive, negative;  ///< int64 rows, ascending
  };
  /// matches: N int64 as Matcher gives them: >= 0 positive, kBackground negative, others never drawn.
  [[nodiscard]] Drawn draw(const Tensor& matches) const;

  [[nodiscard]] static Tensor random_permutation(std::int64_t n);
};

}  // namespace parts
