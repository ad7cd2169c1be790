// soft_nms: overlapping boxes lose score instead of being dropped; those above the threshold stay with the score they
// had.
#include "fusion_method.h"

namespace bdc {

MethodEntry soft_nms_method() {
  return {"soft_nms",
          "soft non-maximum suppression over all annotations",
          {{"decay", "gaussian", "how a score falls with the overlap", {"linear", "gaussian"}, false},
           {"iou", "0.5", "linear decay: overlap above which the score falls", {}, false},
           {"sigma", "0.5", "gaussian decay: width", {}, false},
           {"threshold", "0.3", "decayed score above which a box stays", {}, false}},
          [](const MethodOptions& options) {
            const Decay decay = options.text("decay") == "linear" ? Decay::kLinear : Decay::kGaussian;
            const double iou = options.number("iou", 0, 1), sigma = options.number("sigma", 1e-6, 1e6);
            const double threshold = options.number("threshold", 0, 1);
            return make_fusion_method([=](Span<const FusionBox> boxes, std::size_t) {
              return soft_non_maximum_suppression(boxes, nullptr, decay, iou, sigma, threshold);
            });
          }};
}

}  // namespace bdc
