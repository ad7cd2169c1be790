// nmw: non-maximum weighted over all annotations of an image.
#include "fusion_method.h"

namespace bdc {

MethodEntry nmw_method() {
  return {"nmw",
          "non-maximum weighted over all annotations",
          {{"iou", "0.4", "overlap above which boxes are averaged", {}, false}},
          [](const MethodOptions& options) {
            const double iou = options.number("iou", 0, 1);
            return make_fusion_method([=](Span<const FusionBox> boxes, std::size_t annotators) {
              return non_maximum_weighted(boxes, {annotators, {}}, iou, 0);
            });
          }};
}

}  // namespace bdc
