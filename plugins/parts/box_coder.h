#pragma once

#include <array>

#include "parts/boxes.h"

namespace parts {

/// Boxes as differences from other boxes: with centres (x, y) and sizes (w, h) of the box, (x0, y0, w0, h0) of the
/// region it is seen from,
///   code = ( a (x - x0) / w0, b (y - y0) / h0, c ln(w / w0), d ln(h / h0) ),  (a, b, c, d) = weights.
/// Decoding limits ln(w / w0) and ln(h / h0) to `clamp`, so that a wild code cannot overflow. torchvision and
/// detectron2 agree in all of this.
struct BoxCoder {
  std::array<double, 4> weights{1, 1, 1, 1};
  double clamp = 4.135166556742356;  ///< ln(1000 / 16)

  /// boxes, regions: N x 4 -> N x 4. Sizes must be above 0.
  [[nodiscard]] Tensor encode(const Tensor& boxes, const Tensor& regions) const;
  /// codes: N x 4C, one code per class -> N x C x 4.
  [[nodiscard]] Tensor decode(const Tensor& codes, const Tensor& regions) const;
};

/// One of several codes of each row: codes N x 4C, which N int64 -> N x 4.
[[nodiscard]] Tensor pick_codes(const Tensor& codes, const Tensor& which);

}  // namespace parts
