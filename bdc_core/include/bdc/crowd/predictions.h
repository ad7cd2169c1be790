#pragma once

#include <cstdint>
#include <vector>

#include "bdc/crowd/box.h"

namespace bdc {

/// Output of a detector on the images of a CrowdData: flat arrays, sorted by image, best score first inside an image.
struct Predictions {
  int num_classes = 0;
  std::vector<Box> box;             ///< N, pixels of the original image
  std::vector<double> score;        ///< N, confidence in [0, 1]
  std::vector<double> class_probs;  ///< N x J, row-major; each row sums to 1
  std::vector<std::size_t> begin;   ///< images + 1; image i has [begin[i], begin[i+1])
};

}  // namespace bdc
