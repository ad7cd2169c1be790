#include "engine/observers/evaluation.h"

#include <torch/nn.h>

#include "data/open_data.h"
#include "engine/evaluate.h"

namespace bdc::host {

Evaluation::Evaluation(DetectorHandle& detector, Ema& ema, const Dataset& test, const TrainSettings& settings,
                       Progress& progress, Communicator& ranks)
    : detector_(detector),
      ema_(ema),
      test_(test),
      settings_(settings),
      progress_(progress),
      ranks_(ranks),
      has_truth_(has_true_boxes(test.labels())) {}

void Evaluation::after_steps(LoopState& state) {
  const std::int64_t epoch = state.at.epoch + 1;
  if (!has_truth_ || (epoch != settings_.epochs && epoch % settings_.evaluate_every != 0)) return;
  state.stage = "evaluation with plugin " + detector_.name();
  const Ema::Lent lent(ema_);
  const auto show = [&](std::int64_t done) {
    progress_.live("epoch " + std::to_string(epoch) + "/" + std::to_string(settings_.epochs) + "  evaluating " +
                   std::to_string(done) + "/" + std::to_string(test_.size()));
  };
  latest_ = std::make_shared<const CocoEvalResult>(
      evaluate(detector_, test_, settings_.input_size, settings_.batch_size, settings_.limits, show, ranks_));
  state.evaluation = latest_;
  state.run.metrics["test/AP"] = latest_->stats[0];
  state.run.metrics["test/AP50"] = latest_->stats[1];
  state.run.metrics["test/AP75"] = latest_->stats[2];
}

}  // namespace bdc::host
