#pragma once

#include "parts/matcher.h"
#include "parts/sampler.h"

namespace parts {

/// Regions of a batch that the second stage is trained on, image by image.
struct Regions {
  Tensor boxes;                     ///< N x 4
  Tensor target;                    ///< N int64: row of the targets, -1 for background
  Tensor row;                       ///< N int64: which of the image's proposals, appended targets after them
  std::vector<std::int64_t> begin;  ///< B + 1: image b has the rows begin[b] .. begin[b+1]-1

  [[nodiscard]] Tensor image() const;  ///< N int64
};

struct RegionOptions {
  Matcher matcher{0.5, 0.5, false};
  BalancedSampler sampler{512, 0.25};
  bool append_targets = true;    ///< the targets' own boxes are proposals, too
  bool positives_first = false;  ///< inside an image (detectron2); false: in the order of the proposals (torchvision)
};

/// proposals: B tensors n x 4. targets: T x 4, those of image b in the rows target_begin[b] .. target_begin[b+1]-1.
/// No gradient.
[[nodiscard]] Regions sample_regions(const std::vector<Tensor>& proposals, const Tensor& targets,
                                     const std::vector<std::int64_t>& target_begin, const RegionOptions& options);

/// The same without drawing: every proposal with its match; those that are neither are left out. For later stages of a
/// cascade, with append_targets false.
[[nodiscard]] Regions match_regions(const std::vector<Tensor>& proposals, const Tensor& targets,
                                    const std::vector<std::int64_t>& target_begin, const Matcher& matcher);

}  // namespace parts
