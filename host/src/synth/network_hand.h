#pragma once

#include <array>
#include <memory>
#include <vector>

#include "synth/hand.h"

namespace bdc::host {

/// What a region proposal network sees in every image of a data set.
class ImageProposals {
 public:
  struct One {
    Box box;                ///< pixels of the image
    double objectness = 0;  ///< 0..1
  };
  /// Appends those of the next image. Throws std::invalid_argument for a box that is not valid or an objectness that is
  /// not in 0..1.
  void add_image(const std::vector<One>& proposals);

  [[nodiscard]] std::size_t images() const { return begin_.size() - 1; }
  [[nodiscard]] std::size_t count(std::size_t image) const { return begin_[image + 1] - begin_[image]; }
  [[nodiscard]] One at(std::size_t image, std::size_t n) const;

 private:
  std::vector<std::size_t> begin_{0};
  std::vector<std::array<float, 4>> boxes_;  // 100 proposals on each of COCO's images stay below 250 MB
  std::vector<float> objectness_;
};

/// What the networks of one skill are to those who annotate with it.
struct SkillSource {
  /// counts[t * (J + 1) + c]: held-out crops of class t that the classifier took for c; J is background. J + 1 rows.
  std::vector<double> counts;
  std::shared_ptr<const ImageProposals> proposals;
};

/// Parameters of the rows of an annotator's matrix: counts times `scale`. A class of which no crop was held out gets
/// the weight of one crop: the share of all crops that the classifier got right on the diagonal, the rest evenly.
/// Throws std::invalid_argument unless there are (J + 1)^2 counts, finite, not negative, and not all 0.
[[nodiscard]] std::vector<double> dirichlet_parameters(const std::vector<double>& counts, std::size_t classes,
                                                       double scale);

/// An annotator's own matrix: row by row a Dirichlet draw. Parameters and result are (J + 1) x (J + 1), row-major.
[[nodiscard]] std::vector<double> draw_matrix(const std::vector<double>& parameters, std::size_t classes,
                                              Random& random);

/// Draws as the paper's simulated annotators do. For every object of an image, a class from the object's row of
/// `matrix`; background: the object is missed; otherwise its box is a proposal, drawn in proportion to
/// IoU with the object x objectness. An object that no proposal overlaps was not seen: it is missed, too. Then one
/// class from background's row; unless that is background, a false positive, its box drawn in proportion to objectness.
/// COCO's crowd regions are never drawn.
[[nodiscard]] std::shared_ptr<const Hand> make_network_hand(const std::vector<double>& matrix,
                                                            std::shared_ptr<const ImageProposals> proposals,
                                                            std::size_t classes);

/// (J + 1) x (J + 1), all entries 1 / (J + 1): one who guesses.
[[nodiscard]] std::vector<double> even_matrix(std::size_t classes);

/// One who guesses, by the same steps: classes evenly among all and background, boxes anywhere (random_box).
[[nodiscard]] std::shared_ptr<const Hand> make_guessing_hand(std::size_t classes);

/// Weights of the proposals of an image for an object: IoU x objectness. For tests and reports.
[[nodiscard]] std::vector<double> proposal_weights(const ImageProposals& proposals, std::size_t image,
                                                   const Box& object);

/// What `matrix` comes to on this truth: recall, spurious_rate and class_accuracy of `self` (of the objects that are
/// drawn, the share with the right class).
void set_expected_numbers(SimulatedAnnotator& self, const std::vector<double>& matrix, const CrowdData& truth);

}  // namespace bdc::host
