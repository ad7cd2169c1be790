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
  std::vector<std::string> left_out;   ///< files that are not read, which was said
  const CrowdFormat* whole = nullptr;  ///< the format that was detected of a folder that is labels as a whole
};

/// A path; or, for a folder or zip file that is not labels as a whole but holds files each of which is (COCO, tables,
/// VIA), those files; or the zip files of a folder that holds nothing else.
[[nodiscard]] LabelPlaces label_places(const std::string& path, const ReadOptions& options);

/// A consensus that bdc wrote is nobody's labels beside those of annotators: one in a folder is left out, with a note;
/// one that the user named is refused with a DataError. alone: `given` is all that is read, so it may be a consensus.
void leave_out_own_consensus(const std::string& given, bool alone, LabelPlaces& places, const ReadOptions& options);

}  // namespace bdc
