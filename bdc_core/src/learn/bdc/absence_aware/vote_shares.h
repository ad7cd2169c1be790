#pragma once

#include "learn/bdc/absence_aware/image_state.h"

namespace bdc::absence_aware {

/// Sets the class probabilities of the image's candidates to the shares of their labels: where the fit starts. Under
/// the first beliefs, which know nobody, a majority would be certain from the outset, and a minority that is right
/// could never be found out again: who contradicts the others in the same way every time is right about something.
void set_vote_shares(const ImageItems& image, std::size_t classes, ImageState& state);

}  // namespace bdc::absence_aware
