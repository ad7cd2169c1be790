#pragma once

#include <cstdint>
#include <vector>

#include "bdc/crowd/crowd_data.h"

namespace bdc::host {

/// A piece of an image to name the class of.
struct Crop {
  std::int32_t image = 0;
  Box box;                 ///< inside the image, at least one pixel each way
  std::int32_t label = 0;  ///< J: background
};

struct CropSettings {
  double held_out = 0.25;        ///< share of the images whose crops are held out, at least one image, never all
  std::int64_t backgrounds = 1;  ///< crops of background per image
  std::uint64_t seed = 1;
};

struct CropSets {
  std::vector<Crop> train, held_out;  ///< of different images
};

/// Every true object, crowd regions left out, and pieces of background: as large as some object of the data, smaller
/// where there is no room, and free of true boxes; an image that is full of objects may have less than asked for.
/// Throws DataError when there are fewer than two images or one of the two sets has no object.
[[nodiscard]] CropSets make_crops(const CrowdData& truth, const CropSettings& settings);

}  // namespace bdc::host
