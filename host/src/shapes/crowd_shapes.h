#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "shapes/shapes.h"

namespace bdc::host {

/// How people of one skill draw.
struct SkillNumbers {
  double recall;          ///< probability that an object is drawn
  double spurious_rate;   ///< boxes per image where nothing is
  double class_accuracy;  ///< probability of the right class; 0: guesses evenly
  double box_noise;       ///< deviation of the centre, of the box's size, and of the logarithm of the size
};

/// Who annotates the built-in shapes. The numbers are those of the crowds in bench/, so that results compare.
struct CrowdShapesSettings {
  std::int64_t experts = 0, average = 0, poor = 0, random = 0;
  double share = 1;  ///< of the images that each annotator sees; every image is seen by at least one
  std::uint64_t seed = 1;
  SkillNumbers expert_numbers{0.95, 0.10, 0.74, 0.04};
  SkillNumbers average_numbers{0.88, 0.25, 0.55, 0.09};
  SkillNumbers poor_numbers{0.78, 0.45, 0.35, 0.16};
  SkillNumbers random_numbers{0.70, 0.90, 0.00, 0.60};
};

/// The true quality of a simulated annotator, for reports next to what was learnt.
struct SimulatedAnnotator {
  std::string name;   ///< "expert-1", as in the labels
  std::string skill;  ///< "expert", "average", "poor" or "random"
  double recall = 0, spurious_rate = 0;
  double class_accuracy = 0;  ///< 1 / classes for one who guesses
  /// A drawn box: centre + size * (bias[0..1] + noise), size * exp(bias[2..3] + noise), noise normal with deviations
  /// noise[0..3]; then clipped to the image and rounded to whole pixels.
  std::array<double, 4> bias{}, noise{};
};

/// Lets a crowd annotate the truth of `labels`: fills annotators, annotations and assignments (there must be none
/// before). An annotator's bias is drawn with half its noise as the deviation. A wrong class is mostly a neighbouring
/// one (numbers one up or down). What somebody draws in an image depends on the seed, skill, number within the skill
/// and the image alone. Throws std::invalid_argument for settings out of range.
std::vector<SimulatedAnnotator> simulate_crowd(CrowdData& labels, const CrowdShapesSettings& settings);

/// The built-in shapes with a simulated crowd. The truth stays, for reports.
class CrowdShapesData : public Dataset {
 public:
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
