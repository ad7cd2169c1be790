#pragma once

#include <functional>
#include <memory>

#include "bdc/learn/bdc/bdc_model.h"
#include "bdc/learn/learner.h"

namespace bdc {

struct BdcRunOptions {
  int max_rounds = 100;
  double tolerance = 1e-4;
  double group_iou = 0.45;
};

using MakeModel = std::function<std::unique_ptr<BdcModel>(const CrowdData&, const AnnotatorPosteriors* prior,
                                                          Span<const std::int32_t> max_objects)>;

/// Alternates match, aggregate and update until the relative change of the bound and the changes of the posteriors are
/// below the tolerance. Images without predictions (all of them when there is no detector) get stand-ins made from
/// groups of annotations.
[[nodiscard]] FitResult run_bdc(const FitInput& input, const char* profile, const BdcParameters& parameters,
                                const BdcRunOptions& options, const MakeModel& make_model);

}  // namespace bdc
