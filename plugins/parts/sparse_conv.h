#pragma once

#include "parts/boxes.h"

namespace parts {

/// 3 x 3 convolution, stride 1, padding 1, whose gradient costs as much as there are cells it comes from. An RPN's loss
/// looks at a few hundred anchors of tens of thousands; the gradient of its other cells is zero, and a plain
/// convolution multiplies those zeros, too. The same numbers but for rounding. Not differentiable twice. x: B x C x h x
/// w, weight: O x C x 3 x 3, bias: O -> B x O x h x w.
[[nodiscard]] Tensor conv3x3_sparse_gradient(const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace parts
