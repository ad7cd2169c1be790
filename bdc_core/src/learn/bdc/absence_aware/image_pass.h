#pragma once

#include "learn/bdc/absence_aware/image_state.h"

namespace bdc::absence_aware {

enum class ImagePass {
  first,      ///< neighbours, first partition, moves
  partition,  ///< box posteriors and moves
  boxes,      ///< box posteriors only
};

/// Brings an image's candidates to a higher bound under fixed beliefs and fills existence, classes and `undetected`.
void run_image_pass(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, ImagePass pass, ImageState& state);

/// The image's part of the bound for candidates as they stand: their bounds and the objects nobody drew. Does not
/// change the state.
[[nodiscard]] double image_bound(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state);

}  // namespace bdc::absence_aware
