#pragma once

#include <memory>
#include <string>

#include "synth/hand.h"

namespace bdc::host {

/// A detector as an annotator: in each image it draws its results of at least min_score, as a COCO results file (or
/// what `predict` wrote) holds them. Results on images that `data` does not have are left out. Throws DataError for a
/// file that does not fit.
[[nodiscard]] std::shared_ptr<const Hand> make_detector_hand(const std::string& results, const CrowdData& data,
                                                             double min_score);

}  // namespace bdc::host
