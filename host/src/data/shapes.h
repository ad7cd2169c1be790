#pragma once

#include <cstdint>
#include <opencv2/core.hpp>

#include "bdc/crowd/crowd_data.h"
#include "data/dataset.h"
#include "engine_api/shapes_settings.h"

namespace bdc::host {

/// The built-in data set: coloured shapes on a textured background, rendered when asked for. The class is the form;
/// colour, size, tilt and place are random. Truth boxes are exact: the outermost pixels that were drawn. An image
/// depends on the seed and its index alone.
class ShapesData : public Dataset {
 public:
  explicit ShapesData(const ShapesSettings& settings);

  /// Images, classes and truth. There are no annotators.
  [[nodiscard]] const CrowdData& labels() const override { return labels_; }
  /// Image `index` as 8-bit RGB, size x size.
  [[nodiscard]] cv::Mat image(std::int64_t index) const override;

 private:
  ShapesSettings settings_;
  CrowdData labels_;
};

}  // namespace bdc::host
