#include "learn/bdc/profiles.h"

#include "bdc/base/error.h"

namespace bdc {

LearnerTraits bdc_traits() {
  LearnerTraits traits;
  traits.learns_annotators = traits.knows_classes = traits.knows_boxes = true;
  traits.uses_detections = true;
  traits.warmup = 1;
  traits.warmup_targets = WarmUp::annotations;
  traits.once_per_epoch = true;
  return traits;
}

OptionSpec min_weight_option() {
  return number_option("min_weight", 0.05, "targets with less weight are left out", 0, 1);
}

void require_annotations(const CrowdData& crowd) {
  if (!crowd.annotators.empty() && !crowd.annotations.empty()) return;
  throw DataError("BDC learns from several annotators' boxes, but the labels have " +
                  std::to_string(crowd.annotators.size()) + " annotators and " +
                  std::to_string(crowd.annotations.size()) + " annotations");
}

}  // namespace bdc
