#pragma once

/// Anchors that suit a data set: k-means on the boxes' sizes, refined by random mutation. No LibTorch.

#include <cstdint>
#include <string>
#include <vector>

namespace yolov7 {

struct BoxSize {
  double width = 0, height = 0;  ///< pixels of the input
};

/// 18 numbers separated by commas or spaces. Throws std::invalid_argument, naming what is wrong, unless there are
/// exactly 18 and all are finite and above 0.
[[nodiscard]] std::vector<double> parse_anchors(const std::string& text);

/// Share of the boxes whose width and height are within a factor of 4 of some anchor's: those that can be learnt.
/// anchors: w, h alternating.
[[nodiscard]] double best_possible_recall(const std::vector<double>& anchors, const std::vector<BoxSize>& boxes);

/// Mean over the boxes of the best anchor's fit, min(w/aw, aw/w, h/ah, ah/h), where that is above 1/4, else 0.
[[nodiscard]] double anchor_fitness(const std::vector<double>& anchors, const std::vector<BoxSize>& boxes);

struct AnchorSearch {
  int count = 9;
  int rounds = 30;         ///< of k-means
  int generations = 1000;  ///< of mutation
  std::uint64_t seed = 0;
};

/// `count` anchors for the boxes, w, h alternating, by growing area. Boxes under 2 pixels are left out. The same input
/// and seed give the same anchors. Throws std::invalid_argument when fewer than `count` boxes are left.
[[nodiscard]] std::vector<double> fit_anchors(const std::vector<BoxSize>& boxes, const AnchorSearch& search = {});

/// `anchors` (18 numbers) if they reach 98 % of the boxes, or if there are too few boxes to fit others, or if fitted
/// ones are no better; else the fitted ones.
[[nodiscard]] std::vector<double> suited_anchors(const std::vector<double>& anchors, const std::vector<BoxSize>& boxes);

}  // namespace yolov7
