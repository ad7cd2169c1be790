// Profile `paper` of the method bdc: the published equations. Targets of every weight are kept.
#include "bdc_runner.h"

namespace bdc {
namespace {

class PaperProfile final : public AggregationMethod {
 public:
  explicit PaperProfile(BdcRunOptions options) : options_(options) {}
  AggregationResult aggregate(const AggregationInput& input) const override {
    return run_bdc(input, "paper", paper_parameters(), options_,
                   [](const CrowdData& crowd, const AnnotatorPosteriors* prior, Span<const std::int32_t> room) {
                     return make_paper_model(crowd, paper_parameters(), prior, room);
                   });
  }

 private:
  BdcRunOptions options_;
};

}  // namespace

MethodEntry paper_profile() {
  return {"paper", "the published equations", bdc_run_options(),
          [](const MethodOptions& options) { return std::make_unique<PaperProfile>(read_bdc_run_options(options)); }};
}

}  // namespace bdc
