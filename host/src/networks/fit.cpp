#include "networks/fit.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "bdc/base/now_seconds.h"
#include "bdc/base/shuffle.h"
#include "bdc/base/table.h"
#include "bdc/base/user_error.h"
#include "data/in_batches.h"
#include "engine/optimizer.h"
#include "engine/read_weights.h"
#include "engine/schedule.h"

namespace bdc::host {
namespace {

constexpr std::uint64_t kOrderStream = 13;

/// Batches of one epoch. None has a single item, which batch norm cannot learn from.
std::vector<std::vector<std::int64_t>> batches_of(std::int64_t items, std::int64_t size, const Random& random) {
  std::vector<std::int64_t> order = shuffled(items, random);
  if (items == 1) order.push_back(0);
  std::vector<std::vector<std::int64_t>> out = in_batches(order, size);
  if (out.size() > 1 && out.back().size() == 1) {
    out[out.size() - 2].push_back(out.back()[0]);
    out.pop_back();
  }
  return out;
}

std::vector<plugin::ParameterGroup> learning_parameters(torch::nn::Module& module) {
  plugin::ParameterGroup group;
  for (const auto& p : module.parameters()) {
    if (p.requires_grad()) group.parameters.push_back(p);
  }
  return {group};
}

}  // namespace

void fit(torch::nn::Module& module, const NetworkTraining& how, std::int64_t items, std::uint64_t seed,
         const std::string& name, const std::function<torch::Tensor(const std::vector<std::int64_t>&)>& loss_of,
         const NetworkProgress& progress) {
  OptimizerSettings settings;
  settings.kind = how.optimizer;
  settings.clip_norm = 10;
  Optimizer optimizer(learning_parameters(module), settings);
  module.train();
  std::int64_t step = 0, total = 0;
  for (std::int64_t epoch = 0; epoch < how.epochs; ++epoch) {
    const double started = now_seconds();
    const auto batches = batches_of(items, std::max<std::int64_t>(2, how.batch),
                                    Random(seed, kOrderStream, static_cast<std::uint64_t>(epoch)));
    total = static_cast<std::int64_t>(batches.size()) * how.epochs;
    LearningRate rate;
    rate.start = how.learning_rate;
    rate.warmup_steps = std::min<std::int64_t>(20, total / 10);
    double sum = 0;
    for (std::size_t b = 0; b < batches.size(); ++b, ++step) {
      progress.show(name + ": epoch " + std::to_string(epoch + 1) + "/" + std::to_string(how.epochs) + ", batch " +
                    std::to_string(b + 1) + "/" + std::to_string(batches.size()));
      optimizer.zero_grad();
      const torch::Tensor loss = loss_of(batches[b]);
      const double value = loss.item<double>();
      if (std::isfinite(value)) loss.backward();
      if (!std::isfinite(value) || !std::isfinite(optimizer.step(rate.at(step, total)))) {
        throw UserError(ExitCode::non_finite, name + ": the loss is no longer finite in epoch " +
                                                  std::to_string(epoch + 1) + "; use a lower learning_rate (now " +
                                                  Json(how.learning_rate).dump() + ")");
      }
      sum += value;
    }
    progress.say(name + ": epoch " + std::to_string(epoch + 1) + "/" + std::to_string(how.epochs) + "  loss " +
                 fixed(sum / static_cast<double>(batches.size()), 3) + "  " + fixed(now_seconds() - started, 1) + " s");
  }
  module.eval();
}

void start_without_residuals(torch::nn::Module& module) {
  torch::NoGradGuard no_grad;
  const std::string last = "bn3.weight", second = "bn2.weight";
  const auto parameters = module.named_parameters();
  const auto ends = [](const std::string& name, const std::string& end) {
    return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  for (const auto& item : parameters) {
    const std::string& name = item.key();
    const bool is_last =
        ends(name, last) ||
        (ends(name, second) && parameters.find(name.substr(0, name.size() - last.size()) + last) == nullptr);
    if (is_last) torch::Tensor(item.value()).zero_();
  }
}

void load_start_weights(torch::nn::Module& module, const NetworkTraining& how, const std::string& name,
                        const NetworkProgress& progress) {
  if (how.weights.empty()) return;
  Weights weights = read_weights(how.weights);
  widen_to_float32(weights);
  const LoadReport report = load_matching(module, weights);
  if (report.loaded.empty()) {
    throw UserError(ExitCode::data, how.weights + ": none of its tensors fits " + name +
                                        "; expected torchvision's names and shapes (width 1)");
  }
  progress.say(name + ": " + std::to_string(report.loaded.size()) + " tensors of " + how.weights);
}

}  // namespace bdc::host
