// nms: non-maximum suppression over all annotations of an image. All scores are equal, so of boxes that overlap the one
// of the last annotator stays: a baseline that shows what suppression alone is worth.
#include "fusion_method.h"

namespace bdc {

LearnerEntry nms_learner() {
  LearnerEntry entry;
  entry.info.name = "nms";
  entry.info.description = "non-maximum suppression over all annotations";
  entry.info.options = {number_option("iou", 0.5, "overlap above which one of two boxes is dropped", 0, 1)};
  entry.create = [](const Options& options) {
    const double iou = options.get_number("iou");
    return make_fusion_method(
        [=](Span<const FusionBox> boxes, std::size_t) { return non_maximum_suppression(boxes, nullptr, iou); });
  };
  return entry;
}

}  // namespace bdc
