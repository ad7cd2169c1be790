#include "engine/observers/loss_watch.h"

#include <torch/nn.h>

#include <algorithm>

namespace bdc::host {
namespace {

constexpr double kFactor = 10;

/// Whether loss n is far above what came before it.
bool is_far_up(const std::vector<double>& losses, std::size_t n) {
  if (n == 0) return false;
  const double lowest = *std::min_element(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(n));
  return lowest > 0 && losses[n] > kFactor * lowest && losses[n] > losses[0];
}

}  // namespace

bool has_run_away(const std::vector<Json>& records) {
  std::vector<double> losses;
  for (const Json& record : records) {
    const auto loss = record.find("train/loss");
    if (loss == record.end() || !loss->is_number()) return false;
    losses.push_back(loss->get<double>());
  }
  const std::size_t n = losses.size();
  return n > 1 && is_far_up(losses, n - 1) && !is_far_up(losses, n - 2);
}

void LossWatch::after_epoch(LoopState& state) {
  if (!state.is_writer() || !has_run_away(record_.records())) return;
  progress_.line(
      "warning: the loss is ten times what it was at its lowest; a lower train.learning_rate, more "
      "train.warmup_steps or a smaller train.clip_norm may keep it down");
}

}  // namespace bdc::host
