#pragma once

#include "parts/boxes.h"

namespace parts {

/// Pools features of regions from the level of a pyramid that suits their size:
///   level = floor( canonical_level + log2( sqrt(area) / canonical_size + inside ) + outside ),
/// limited to the levels there are. TorchVision's roi_align does the pooling, many regions at a time.
struct RoiPool {
  std::int64_t output_size = 7;
  std::int64_t sampling_ratio = 2;  ///< sampling points per bin and axis; 0: as many as the bin has pixels
  bool aligned = false;             ///< true: shifted by half a pixel (detectron2's ROIAlignV2)
  double canonical_size = 224;
  std::int64_t canonical_level = 4;
  double inside = 0, outside = 1e-6;  ///< torchvision; detectron2: 1e-8, 0

  /// Rows in the order of levels; `order[i]` is the region of row i.
  struct Pooled {
    Tensor features;  ///< N x C x output_size x output_size
    Tensor order;     ///< N int64

    /// Rows computed from `features` (N x anything), in the order of the regions.
    [[nodiscard]] Tensor in_order(const Tensor& rows) const;
  };

  /// features: levels, B x C x h x w; strides[l]: pixels per cell, 2^k. boxes: N x 4; image: N int64, 0..B-1.
  /// Differentiable in the features. Rows leave in the order of levels because putting N x C x 7 x 7 numbers into
  /// another order, forward and backward, costs more than doing so with the few numbers a head makes of them.
  [[nodiscard]] Pooled pool(const std::vector<Tensor>& features, const std::vector<std::int64_t>& strides,
                            const Tensor& boxes, const Tensor& image) const;

  /// N int64: index into strides.
  [[nodiscard]] Tensor level_of(const Tensor& boxes, const std::vector<std::int64_t>& strides) const;
};

/// TorchVision's roi_align with its gradient, shared among threads; the same bits for any number of them.
/// features: B x C x h x w; regions: N x 5 (image, x1, y1, x2, y2); scale: cells per pixel.
[[nodiscard]] Tensor parallel_roi_align(const Tensor& features, const Tensor& regions, double scale,
                                        std::int64_t output_size, std::int64_t sampling_ratio, bool aligned);

}  // namespace parts
