#include "bdc/learn/learner.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bdc/base/error.h"

namespace bdc {

void check_input(const FitInput& input) {
  if (input.crowd == nullptr) throw std::invalid_argument("aggregate: no crowd data");
  const CrowdData& crowd = *input.crowd;
  if (crowd.annotation_begin.size() != crowd.images.size() + 1) {
    throw std::invalid_argument("aggregate: the crowd data is not finalized");
  }
  for (std::size_t a = 0; a < crowd.annotations.size(); ++a) {
    if (!crowd.annotations[a].box.valid()) {
      throw DataError("annotation " + std::to_string(a) + " of image \"" +
                      crowd.images[static_cast<std::size_t>(crowd.annotations[a].image)].id.text +
                      "\": expected a box with x1 < x2 and y1 < y2; remove or repair it first");
    }
  }
  if (input.predictions == nullptr) return;
  const Predictions& p = *input.predictions;
  const std::size_t J = crowd.classes.size(), N = p.box.size();
  if (p.begin.size() != crowd.images.size() + 1) {
    throw DataError("predictions are for " + std::to_string(p.begin.empty() ? 0 : p.begin.size() - 1) +
                    " images, the crowd data has " + std::to_string(crowd.images.size()));
  }
  if (static_cast<std::size_t>(p.num_classes) != J || p.class_probs.size() != N * J || p.score.size() != N ||
      p.begin.back() != N) {
    throw DataError("predictions have " + std::to_string(p.num_classes) + " classes and " +
                    std::to_string(p.class_probs.size()) + " probabilities for " + std::to_string(N) +
                    " boxes; the crowd data has " + std::to_string(J) + " classes");
  }
  for (std::size_t n = 0; n < N; ++n) {
    if (!p.box[n].valid()) {
      throw DataError("prediction " + std::to_string(n) + ": expected a box with x1 < x2 and y1 < y2");
    }
  }
  for (std::size_t n = 0; n < p.class_probs.size(); ++n) {
    if (!std::isfinite(p.class_probs[n]) || p.class_probs[n] < 0) {
      throw DataError("prediction " + std::to_string(n / J) + ": expected class probabilities, found " +
                      std::to_string(p.class_probs[n]));
    }
  }
}

DetectedBoxes detections_of(const Predictions* predictions, std::size_t image) {
  if (predictions == nullptr) return {};
  const std::size_t first = predictions->begin[image], count = predictions->begin[image + 1] - first;
  const auto J = static_cast<std::size_t>(predictions->num_classes);
  return {{predictions->box.data() + first, count},
          {predictions->score.data() + first, count},
          {predictions->class_probs.data() + first * J, count * J}};
}

FitResult Learner::fit(const FitInput& input) {
  constexpr int kMostRounds = 100;
  constexpr double kTolerance = 1e-6;
  check_input(input);
  const std::size_t images = input.crowd->images.size();
  FitResult result;
  if (input.prior != nullptr) result.warnings.push_back("this method does not use what is known about the annotators");
  if (input.crowd->annotations.empty()) {
    result.targets.num_classes = static_cast<int>(input.crowd->classes.size());
    result.targets.begin.assign(images + 1, 0);
    return result;
  }
  begin(*input.crowd, input.threads);
  result.converged = false;
  while (result.rounds < kMostRounds && !result.converged) {
    result.targets = {};
    for (std::size_t i = 0; i < images; ++i) {
      append_image(observe(i, detections_of(input.predictions, i)), 0, result.targets);
    }
    const double bound = finish_epoch(), before = result.bound.empty() ? 0 : result.bound.back();
    const double change = result.bound.empty() ? 1.0 : std::abs(bound - before) / std::max(1.0, std::abs(bound));
    result.bound.push_back(bound);
    ++result.rounds;
    result.converged = change < kTolerance;
    if (input.progress) input.progress({result.rounds, kMostRounds, bound, change, images, images});
  }
  if (!result.converged) {
    result.warnings.push_back("the bound had not settled after " + std::to_string(result.rounds) + " rounds");
  }
  result.posteriors = posteriors();
  return result;
}

}  // namespace bdc
