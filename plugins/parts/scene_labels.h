#pragma once

#include <cstdint>
#include <vector>

#include "parts/proposal_network.h"

namespace parts {

/// Targets of a batch in the network's frame.
struct Labels {
  Tensor boxes;                     ///< T x 4
  Tensor rows;                      ///< T int64: which of the given targets these are
  std::vector<std::int64_t> begin;  ///< B + 1
};
/// Leaves out boxes with an edge below 0.001 pixels, and where weights are defined, those of weight 0.
[[nodiscard]] Labels labels_of(const Scene& scene, const Tensor& boxes, const Tensor& image_index,
                               const Tensor& weights);

}  // namespace parts
