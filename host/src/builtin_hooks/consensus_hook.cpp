#include "builtin_hooks/consensus_hook.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <map>
#include <utility>

#include "bdc/learn/method.h"
#include "builtin_hooks/consensus_report.h"
#include "config/json_file.h"
#include "data/frames.h"

namespace bdc::host {
namespace {

std::map<std::string, std::string> as_text(const plugin::Options& options) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : options.values()) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      out[name] = *text;
    } else {
      out[name] = Json(std::get<double>(value)).dump();
    }
  }
  return out;
}

class ConsensusHook : public plugin::TrainingHook {
 public:
  ConsensusHook(std::string method, const plugin::Options& options, const HookServices& services)
      : name_(std::move(method)), method_(make_method(name_, as_text(options))), services_(services) {}

  void before_fit(plugin::RunContext& run) override {
    AggregationInput input;
    input.crowd = services_.labels;
    input.threads = services_.threads;
    AggregationResult result = method_->aggregate(input);
    targets_ = std::move(result.targets);
    report_targets(name_, targets_, *services_.labels, run);
    if (result.posteriors) write_annotators(*result.posteriors, 0, run);
  }

  void before_loss(plugin::RunContext&, plugin::LossContext& step) override {
    Targets batch;
    for (const auto& meta : step.images->meta) append_image(targets_, static_cast<std::size_t>(meta.index), batch);
    *step.targets = map_targets(batch, *step.images);
  }

 private:
  std::string name_;
  std::unique_ptr<AggregationMethod> method_;
  const HookServices& services_;
  Targets targets_;
};

}  // namespace

std::unique_ptr<plugin::TrainingHook> make_consensus_hook(const std::string& method, const plugin::Options& options,
                                                          const HookServices& services) {
  return std::make_unique<ConsensusHook>(method, options, services);
}

}  // namespace bdc::host
