#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bdc/crowd/box.h"

namespace bdc {

/// The consensus: what a detector is trained on. Flat arrays, sorted by image.
struct Targets {
  int num_classes = 0;
  std::vector<Box> box;             ///< T, pixels of the original image
  std::vector<double> class_probs;  ///< T x J, row-major; each row sums to 1; empty when hard_label is filled
  /// T, instead of class_probs where every class vector has a single 1: J times smaller.
  std::vector<std::int32_t> hard_label;
  std::vector<double> weight;  ///< T, weight in the training loss, in [0, 1] for BDC
  std::vector<double> score;   ///< T, confidence that ranks the targets when they are evaluated
  /// T, probability that the object is real; empty when the method has no such notion.
  std::vector<double> existence;
  /// T, probability that the object is real and overlaps the box by an IoU of at least 0.5; empty when the method has
  /// no such notion.
  std::vector<double> located;
  /// T, standard deviations of x1, y1, x2, y2 in pixels; empty when the method has no such notion.
  std::vector<std::array<double, 4>> box_std;
  std::vector<std::size_t> begin;  ///< images + 1; image i has [begin[i], begin[i+1])

  /// The most probable class of target n; of equal ones the first.
  [[nodiscard]] std::int32_t label(std::size_t n) const;
  /// Probability of class j for target n.
  [[nodiscard]] double class_prob(std::size_t n, std::size_t j) const;
  /// Turns hard_label, if there, into class_probs.
  void make_class_vectors();
};

/// Appends the targets of one image and closes it there (begin).
void append_image(const Targets& from, std::size_t image, Targets& to);

}  // namespace bdc
