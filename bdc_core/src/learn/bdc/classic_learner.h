#pragma once

#include <memory>

#include "bdc/learn/bdc/bdc_model.h"
#include "bdc/learn/learner_info.h"

namespace bdc {

/// What sets a profile apart whose objects are the detector's boxes that annotations are tied to: paper and reference.
struct ClassicProfile {
  std::string name;
  BdcParameters parameters;           ///< of fit
  BdcParameters training_parameters;  ///< beside a detector
  /// Class scores are the detector's class probabilities times its score, as the authors' program takes them.
  bool scores_times_confidence = false;
  std::function<std::unique_ptr<BdcModel>(const CrowdData&, const BdcParameters&, const AnnotatorPosteriors* prior,
                                          Span<const std::int32_t> max_objects)>
      make_model;
};

/// Options of every classic profile's fit: max_rounds, tolerance, group_iou.
[[nodiscard]] std::vector<OptionSpec> classic_options();

/// options: checked, with classic_options among them.
[[nodiscard]] std::unique_ptr<Learner> make_classic_learner(ClassicProfile profile, const Options& options);

}  // namespace bdc
