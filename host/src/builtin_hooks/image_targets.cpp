#include "builtin_hooks/image_targets.h"

namespace bdc::host {

DetectedBoxes of_image(const Predictions& p, std::size_t image) {
  const std::size_t first = p.begin[image], count = p.begin[image + 1] - first;
  const auto J = static_cast<std::size_t>(p.num_classes);
  return {
      {p.box.data() + first, count}, {p.score.data() + first, count}, {p.class_probs.data() + first * J, count * J}};
}

Targets LatestTargets::all() const {
  Targets out;
  for (const auto& [image, targets] : of_) append_image(targets, 0, out);
  return out;
}

}  // namespace bdc::host
