// em-wbf: weighted boxes fusion in which a box's score is its annotator's accuracy in its class, as laem's expectation
// maximisation learns it. Weight and score of a target: the cluster's score.
#include "fusion_method.h"
#include "located_votes.h"

namespace bdc {

LearnerEntry em_wbf_learner() {
  LearnerEntry entry;
  entry.info.name = "em-wbf";
  entry.info.description = "weighted boxes fusion by the annotators' accuracies that laem learns";
  entry.info.options = {
      number_option("iou", 0.4, "overlap above which boxes are fused", 0, 1),
      number_option("agree", 0.5, "share that boxes must have in common of the box around them to teach", 0, 1)};
  entry.create = [](const Options& options) {
    const double iou = options.get_number("iou"), agree = options.get_number("agree");
    const auto fuse = [iou](Span<const FusionBox> boxes, std::size_t annotators) {
      constexpr double kNeverRight = 1e-9;
      return weighted_boxes_fusion(boxes, {annotators, {}}, iou, kNeverRight, ClusterScore::kAverage);
    };
    return make_fusion_method(fuse, [agree](const FitInput& input) -> BoxScore {
      return [skill = locate_votes(input, agree).skill](const FusionBox& b) {
        return skill.accuracy({b.model, b.label});
      };
    });
  };
  return entry;
}

}  // namespace bdc
