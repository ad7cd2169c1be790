#pragma once

#include <cstdint>
#include <vector>

#include "data/shapes.h"
#include "synth/crowd_spec.h"

namespace bdc::host {

/// Who annotates the built-in shapes. The numbers are those of the crowds in bench/, so that results compare.
struct CrowdShapesSettings {
  std::int64_t experts = 0, average = 0, poor = 0, random = 0;
  double share = 1;  ///< of the images that each annotator sees; every image is seen by at least one
  std::uint64_t seed = 1;
  SkillNumbers expert_numbers = skill_numbers("expert");
  SkillNumbers average_numbers = skill_numbers("average");
  SkillNumbers poor_numbers = skill_numbers("poor");
  SkillNumbers random_numbers = skill_numbers("random");
};

/// The built-in shapes with a simulated crowd (synth/simulate.h). The truth stays, for reports.
class CrowdShapesData : public Dataset {
 public:
  /// Throws std::invalid_argument for settings out of range.
  CrowdShapesData(const ShapesSettings& shapes, const CrowdShapesSettings& crowd);

  [[nodiscard]] const CrowdData& labels() const override { return labels_; }
  [[nodiscard]] cv::Mat image(std::int64_t index) const override { return shapes_.image(index); }
  [[nodiscard]] const std::vector<SimulatedAnnotator>& annotators() const { return annotators_; }

 private:
  ShapesData shapes_;
  CrowdData labels_;
  std::vector<SimulatedAnnotator> annotators_;
};

}  // namespace bdc::host
