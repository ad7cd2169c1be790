#pragma once

#include <functional>
#include <memory>

#include "bdc/learn/bdc/bdc_model.h"
#include "bdc/learn/method.h"

namespace bdc {

struct BdcRunOptions {
  int max_rounds = 100;
  double tolerance = 1e-4;
  double group_iou = 0.45;
};

using MakeModel = std::function<std::unique_ptr<BdcModel>(const CrowdData&, const AnnotatorPosteriors* prior,
                                                          Span<const std::int32_t> max_objects)>;

/// The options every profile run by run_bdc has: max_rounds, tolerance, group_iou.
[[nodiscard]] std::vector<MethodOption> bdc_run_options();
[[nodiscard]] BdcRunOptions read_bdc_run_options(const MethodOptions& options);

/// Alternates match, aggregate and update until the relative change of the bound and the changes of the posteriors are
/// below the tolerance. Images without predictions (all of them when there is no detector) get stand-ins made from
/// groups of annotations.
[[nodiscard]] AggregationResult run_bdc(const AggregationInput& input, const char* profile,
                                        const BdcParameters& parameters, const BdcRunOptions& options,
                                        const MakeModel& make_model);

}  // namespace bdc
