#pragma once

#include <string>
#include <vector>

#include "bdc/crowd/crowd_io.h"

namespace bdc {

struct CrowdFormat;

/// What is read for a path that the user gave.
struct LabelPlaces {
  std::vector<std::string> paths;
  std::vector<std::string> splits;     ///< one per path: train, val, test; empty where the paths are not splits
  const CrowdFormat* whole = nullptr;  ///< the format that was detected of a folder that is labels as a whole
};

/// A path; or, for a folder or zip file that is not labels as a whole but holds files each of which is (COCO, tables,
/// VIA), those files.
[[nodiscard]] LabelPlaces label_places(const std::string& path, const ReadOptions& options);

}  // namespace bdc
