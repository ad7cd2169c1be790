#pragma once

#include <bdc/plugin/types.h>

#include <vector>

#include "data/augment.h"
#include "data/dataset.h"

namespace bdc::host {

/// A batch ready for a detector: pixels, where they came from, and what is known of them.
struct Batch {
  plugin::Images images;
  /// Hard targets in the input frame, what training without hooks uses: the truth; or, when there are annotators, every
  /// box that anybody drew, and never the truth.
  plugin::Targets targets;
  /// Original frame; undefined tensors when the labels have no annotators or nobody asks for it (BatchSettings).
  plugin::CrowdLabels crowd;
  std::int64_t number = 0;  ///< its place in the list handed to a BatchLoader

  /// Images that could be loaded; less than asked for where some are broken, perhaps 0.
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(images.meta.size()); }
};

struct BatchSettings {
  AugmentSettings augment;  ///< default: none
  std::uint64_t seed = 0;   ///< of the augmentation, with the epoch and each image's index
  std::int64_t epoch = 0;
  int threads = 0;           ///< that load images; 0: all cores. The bits are the same for any number.
  bool with_targets = true;  ///< false: Batch::targets has none
  bool with_crowd = true;    ///< false: Batch::crowd stays empty
};

/// Loads the images `indices`, puts each into a square of `input_size` (see place_image), and maps its labels into the
/// input frame; boxes are clipped to the input and left out as clip_box says. Images that throw BrokenImage are left
/// out of the batch; other exceptions reach the caller. The meta of a mosaic is that of the image asked for, in its
/// quarter, and has a tile for each of its images; the crowd's labels are those of the image asked for.
[[nodiscard]] Batch make_batch(const Dataset& data, const std::vector<std::int64_t>& indices, std::int64_t input_size,
                               const BatchSettings& settings = {});

}  // namespace bdc::host
