#pragma once

#include <memory>

#include "synth/hand.h"

namespace bdc::host {

/// How people of one skill draw.
struct SkillNumbers {
  double recall;               ///< probability that an object is drawn
  double spurious_rate;        ///< boxes per image where nothing is
  double class_accuracy;       ///< probability of the right class; 0: guesses evenly
  double box_noise;            ///< deviation of the centre, of the box's size, and of the logarithm of the size
  double bias = -1;            ///< deviation, over annotators, of their own bias; negative: half of box_noise
  double accuracy_spread = 0;  ///< deviation, over annotators, of their class accuracy
};

/// Which classes are mistaken for each other.
struct ConfusionRule {
  enum class Kind {
    neighbours,  ///< mostly the next class up or down in the list
    uniform,     ///< any other class
    related,     ///< mostly one of the same set of `related`; any other where there is none
  } kind = Kind::neighbours;
  std::vector<std::vector<std::int32_t>> related;  ///< sets of classes; a class is in one at most
  double related_share = 0.8;                      ///< of the mistakes that stay inside the set
};

/// P(given class l | true class j, accuracy), J x J, row-major: what `draw` follows.
[[nodiscard]] std::vector<double> confusion_matrix(const ConfusionRule& rule, double accuracy, std::size_t classes);

/// One annotator of a skill: bias and accuracy are drawn from `random`.
[[nodiscard]] SimulatedAnnotator draw_annotator(const std::string& name, const std::string& skill,
                                                const SkillNumbers& numbers, std::int64_t classes, Random& random);

/// Draws by the numbers of `self`: misses objects, invents boxes anywhere, confuses classes, moves and scales boxes.
/// COCO's crowd regions are never drawn.
[[nodiscard]] std::shared_ptr<const Hand> make_parametric_hand(const SimulatedAnnotator& self, bool guesses,
                                                               const ConfusionRule& rule, std::size_t classes);

}  // namespace bdc::host
