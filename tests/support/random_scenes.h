#pragma once

#include <cmath>
#include <string>
#include <utility>

#include "bdc/base/random.h"
#include "bdc/crowd/crowd_data.h"

namespace bdc::test {

/// Images of 300 to 500 pixels with 1 to 4 true boxes of 8 to 60 % of the edges, classes evenly; nobody annotated them.
inline CrowdData random_scenes(std::size_t images, std::size_t classes, std::uint64_t seed) {
  CrowdData data;
  for (std::size_t j = 0; j < classes; ++j) {
    ClassRecord record;
    record.id = {std::to_string(j), true};
    record.name = "class" + record.id.text;
    data.classes.push_back(std::move(record));
  }
  Random random(seed);
  for (std::size_t i = 0; i < images; ++i) {
    ImageRecord image;
    image.id = {std::to_string(i), true};
    image.file = image.id.text + ".png";
    image.width = 300 + static_cast<int>(random.below(201));
    image.height = 300 + static_cast<int>(random.below(201));
    for (std::int64_t n = 1 + random.below(4); n > 0; --n) {
      const double w = random.uniform(0.08, 0.6) * image.width, h = random.uniform(0.08, 0.6) * image.height;
      const double x = random.uniform(0, image.width - w), y = random.uniform(0, image.height - h);
      data.truth.push_back({{x, y, x + w, y + h},
                            static_cast<std::int32_t>(i),
                            static_cast<std::int32_t>(random.below(static_cast<std::int64_t>(classes))),
                            false,
                            w * h});
    }
    data.images.push_back(image);
  }
  data.has_truth = true;
  data.finalize();
  return data;
}

}  // namespace bdc::test
