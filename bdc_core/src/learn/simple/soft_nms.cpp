// soft_nms: overlapping boxes lose score instead of being dropped; those above the threshold stay with the score they
// had.
#include "fusion_method.h"

namespace bdc {

LearnerEntry soft_nms_learner() {
  LearnerEntry entry;
  entry.info.name = "soft_nms";
  entry.info.description = "soft non-maximum suppression over all annotations";
  entry.info.options = {
      string_option("decay", "gaussian", "how a score falls with the overlap", {"linear", "gaussian"}),
      number_option("iou", 0.5, "linear decay: overlap above which the score falls", 0, 1),
      number_option("sigma", 0.5, "gaussian decay: width", 1e-6, 1e6),
      number_option("threshold", 0.3, "decayed score above which a box stays", 0, 1)};
  entry.create = [](const Options& options) {
    const Decay decay = options.get_string("decay") == "linear" ? Decay::kLinear : Decay::kGaussian;
    const double iou = options.get_number("iou"), sigma = options.get_number("sigma");
    const double threshold = options.get_number("threshold");
    return make_fusion_method([=](Span<const FusionBox> boxes, std::size_t) {
      return soft_non_maximum_suppression(boxes, nullptr, decay, iou, sigma, threshold);
    });
  };
  return entry;
}

}  // namespace bdc
