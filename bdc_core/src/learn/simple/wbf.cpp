// wbf: weighted boxes fusion over the annotators who saw the image, every score and weight 1. Weight and score of a
// target: the cluster's score, with the default rule the share of these annotators who drew it.
#include "fusion_method.h"

namespace bdc {

LearnerEntry wbf_learner() {
  LearnerEntry entry;
  entry.info.name = "wbf";
  entry.info.description = "weighted boxes fusion over the annotators of an image";
  entry.info.options = {number_option("iou", 0.4, "overlap above which boxes are fused", 0, 1),
                        string_option("score", "avg", "how a cluster's score follows from its members",
                                      {"avg", "avg_overflow", "max", "box_and_model_avg", "absent_model_aware_avg"})};
  entry.create = [](const Options& options) {
    const std::string& name = options.get_string("score");
    const ClusterScore rule = name == "avg"                 ? ClusterScore::kAverage
                              : name == "avg_overflow"      ? ClusterScore::kAverageOverflow
                              : name == "max"               ? ClusterScore::kMaximum
                              : name == "box_and_model_avg" ? ClusterScore::kBoxAndModel
                                                            : ClusterScore::kAbsentModelAware;
    const double iou = options.get_number("iou");
    return make_fusion_method([=](Span<const FusionBox> boxes, std::size_t annotators) {
      return weighted_boxes_fusion(boxes, {annotators, {}}, iou, 0, rule);
    });
  };
  return entry;
}

}  // namespace bdc
