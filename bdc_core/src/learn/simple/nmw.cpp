// nmw: non-maximum weighted over all annotations of an image.
#include "fusion_method.h"

namespace bdc {

LearnerEntry nmw_learner() {
  LearnerEntry entry;
  entry.info.name = "nmw";
  entry.info.description = "non-maximum weighted over all annotations";
  entry.info.options = {number_option("iou", 0.4, "overlap above which boxes are averaged", 0, 1)};
  entry.create = [](const Options& options) {
    const double iou = options.get_number("iou");
    return make_fusion_method([=](Span<const FusionBox> boxes, std::size_t annotators) {
      return non_maximum_weighted(boxes, {annotators, {}}, iou, 0);
    });
  };
  return entry;
}

}  // namespace bdc
