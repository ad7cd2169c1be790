// nms: non-maximum suppression over all annotations of an image. All scores are equal, so of boxes that overlap the one
// of the last annotator stays: a baseline that shows what suppression alone is worth.
#include "fusion_method.h"

namespace bdc {

MethodEntry nms_method() {
  return {"nms",
          "non-maximum suppression over all annotations",
          {{"iou", "0.5", "overlap above which the other box is dropped", {}, false}},
          [](const MethodOptions& options) {
            const double iou = options.number("iou", 0, 1);
            return make_fusion_method(
                [=](Span<const FusionBox> boxes, std::size_t) { return non_maximum_suppression(boxes, nullptr, iou); });
          }};
}

}  // namespace bdc
