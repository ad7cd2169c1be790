#pragma once

#include <functional>

#include "fixed_consensus.h"

namespace bdc {

/// Targets of one image while a method works on it.
struct ImageTargets {
  std::vector<Box> box;
  std::vector<std::int32_t> label;
  std::vector<double> weight, score;

  void add(const Box& b, std::int32_t l, double w, double s) {
    box.push_back(b);
    label.push_back(l);
    weight.push_back(w);
    score.push_back(s);
  }
};

/// For methods that treat every image by itself and give hard classes: calls body(image, out) for every image on
/// input.threads threads, a part of them in each of input.ranks, and joins the results in the order of images. Checks
/// the input; warns that predictions and a prior, if given, are not used.
[[nodiscard]] FitResult aggregate_images(const FitInput& input,
                                         const std::function<void(std::size_t, ImageTargets&)>& body);

}  // namespace bdc
