// Profile `reference` of the method bdc: what the authors' released program computes.
#include "bdc_runner.h"

namespace bdc {
namespace {

class ReferenceProfile final : public AggregationMethod {
 public:
  ReferenceProfile(BdcRunOptions options, double min_weight) : options_(options), parameters_(reference_parameters()) {
    parameters_.min_weight = min_weight;
  }
  AggregationResult aggregate(const AggregationInput& input) const override {
    return run_bdc(input, "reference", parameters_, options_,
                   [this](const CrowdData& crowd, const AnnotatorPosteriors* prior, Span<const std::int32_t> room) {
                     return make_reference_model(crowd, parameters_, prior, room);
                   });
  }

 private:
  BdcRunOptions options_;
  BdcParameters parameters_;
};

}  // namespace

MethodEntry reference_profile() {
  std::vector<MethodOption> options = bdc_run_options();
  options.push_back(
      {"min_weight", "0.3", "targets need a weight (share of the image's annotators) above this", {}, false});
  return {"reference", "what the authors' released program computes", options, [](const MethodOptions& values) {
            return std::make_unique<ReferenceProfile>(read_bdc_run_options(values), values.number("min_weight", 0, 1));
          }};
}

}  // namespace bdc
