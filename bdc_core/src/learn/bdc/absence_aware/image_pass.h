#pragma once

#include "learn/bdc/absence_aware/image_state.h"

namespace bdc::absence_aware {

enum class ImagePass {
  first,      ///< neighbours, first partition, moves
  partition,  ///< moves
  boxes,      ///< box posteriors only
};

/// Brings an image's candidates to a higher bound under fixed beliefs and fills existence, classes, `undetected`,
/// `blank` and `occupied`.
///
/// An image in which no annotator drew a box is *blank* unless the detector shows an object there: it has no objects,
/// the detector's boxes in it are spurious, and that the annotators drew nothing is left unexplained. Otherwise
/// "everybody who looked is blind" would be the best account of an empty image. Like the partition this is chosen, not
/// averaged; the targets of a blank image still have the probability that it is not. A choice is changed only when the
/// bound does not fall.
void run_image_pass(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, ImagePass pass, ImageState& state);

/// The next partition pass looks at the image, even if the last ones brought no move: then it is often passed over.
void look_again(ImageState& state);

/// The image's part of the bound for candidates as they stand. Does not change the state.
[[nodiscard]] double image_bound(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state);

}  // namespace bdc::absence_aware
