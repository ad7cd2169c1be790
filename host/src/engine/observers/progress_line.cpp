#include "engine/observers/progress_line.h"

#include <torch/nn.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bdc/base/now_seconds.h"
#include "bdc/base/table.h"

namespace bdc::host {

ProgressLine::ProgressLine(Progress& progress, const TrainSettings& settings, const LossMeter& losses,
                           std::vector<std::string> hooks)
    : progress_(progress), settings_(settings), losses_(losses), hooks_(std::move(hooks)) {}

void ProgressLine::after_batch(LoopState& state, const plugin::LossTerms&) {
  const std::int64_t batches = settings_.batches_per_epoch(state.run.num_images);
  const double elapsed = std::fmax(now_seconds() - state.started, 1e-9);
  const auto left = static_cast<double>((settings_.epochs - state.at.epoch) * batches - state.at.position);
  const double rate =
      static_cast<double>(std::max<std::int64_t>(1, state.at.position - state.first_position)) / elapsed;
  double total = 0;
  std::string parts;
  for (const auto& [name, mean] : losses_.means()) {
    if (name == "loss") {
      total = mean;
    } else {
      parts += (parts.empty() ? "" : ", ") + name + " " + fixed(mean, 3);
    }
  }
  progress_.live("epoch " + std::to_string(state.at.epoch + 1) + "/" + std::to_string(settings_.epochs) + "  step " +
                     std::to_string(state.at.position) + "/" + std::to_string(batches) + "  loss " + fixed(total, 3),
                 parts.empty() ? "" : " (" + parts + ")",
                 "  " + fixed(static_cast<double>(state.images_done) / elapsed, 0) + " images/s  ETA " +
                     clock_text(left / rate) + "  " + memory_text());
}

void ProgressLine::after_epoch(LoopState& state) {
  const auto& metrics = state.run.metrics;
  const auto add = [&](const std::string& metric, const std::string& label, std::string& line) {
    const auto value = metrics.find(metric);
    if (value != metrics.end()) line += "  " + label + " " + fixed(value->second, 3);
  };
  std::string line = "epoch " + std::to_string(state.at.epoch) + "/" + std::to_string(settings_.epochs);
  add("train/loss", "loss", line);
  if (state.evaluation && state.evaluation->stats[0] >= 0) {
    add("test/AP50", "AP50", line);
    add("test/AP", "AP", line);
  }
  for (const auto& hook : hooks_) add(hook + "/AP", "labels AP", line);
  progress_.line(line + "  " + fixed(state.train_seconds, 1) + " s");
}

}  // namespace bdc::host
