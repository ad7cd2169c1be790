#pragma once

#include <memory>
#include <string>
#include <vector>

#include "synth/hand.h"

namespace bdc::host {

/// A detector as an annotator.
struct DetectorHand {
  std::shared_ptr<const Hand> hand;
  std::vector<std::string> notes;  ///< what of its results was left out, for the user; none when all were used
};

/// In each image a detector draws its results of at least min_score, as a COCO results file (or what `predict` wrote)
/// holds them, clipped to the image. Left out and noted are results on images that `data` does not have and boxes
/// outside their images. Throws DataError for a file that does not fit, also when all its results are on other images.
[[nodiscard]] DetectorHand make_detector_hand(const std::string& results, const CrowdData& data, double min_score);

}  // namespace bdc::host
