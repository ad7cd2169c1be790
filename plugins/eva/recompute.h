#pragma once

#include <torch/nn.h>

#include <functional>
#include <vector>

namespace eva {

using torch::Tensor;

/// compute(x), whose inner results are not kept for the gradient but worked out again when it is asked for: memory for
/// time, the same gradients. parameters: all that compute uses and that may need a gradient. LibTorch's default
/// generator gives the same random numbers both times if `random`. Must not be differentiated twice.
[[nodiscard]] Tensor recomputed(const std::function<Tensor(const Tensor&)>& compute, const Tensor& x,
                                const std::vector<Tensor>& parameters, bool random);

}  // namespace eva
