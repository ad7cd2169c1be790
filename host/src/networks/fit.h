#pragma once

#include <torch/types.h>

#include <functional>
#include <string>
#include <vector>

#include "synth/network_settings.h"

namespace torch::nn {
class Module;
}

namespace bdc::host {

/// What to tell people while networks are trained and used; either may be empty.
struct NetworkProgress {
  std::function<void(const std::string&)> line;  ///< a line that stays
  std::function<void(const std::string&)> live;  ///< where things stand now

  void say(const std::string& text) const {
    if (line) line(text);
  }
  void show(const std::string& text) const {
    if (live) live(text);
  }
};

/// Trains a network of a simulated annotator: a module that stands on its device on `items` things, in an order drawn
/// anew every epoch. Order, batches, optimiser and learning rate are those of the engine; its loop (engine/loop.h) is
/// not, because there is no detector, no hook, no evaluation and nothing to resume here. loss_of: the differentiable
/// loss of a batch of them, at least two. The learning rate warms up over 20 steps, or a tenth of all if that is less.
/// `name` stands in progress and messages. All randomness comes from `seed` and LibTorch's default generator. Throws
/// UserError (exit 9) when the loss is not finite.
void fit(torch::nn::Module& module, const NetworkTraining& how, std::int64_t items, std::uint64_t seed,
         const std::string& name, const std::function<torch::Tensor(const std::vector<std::int64_t>&)>& loss_of,
         const NetworkProgress& progress);

/// Residual blocks of a network that starts from scratch begin as if they were not there: the scale of the last batch
/// norm of each (layer1.0.bn3.weight; bn2 where there are two) is 0. A deep ResNet then learns as soon as a shallow
/// one.
void start_without_residuals(torch::nn::Module& module);

/// Copies the weights to start from, where `how` names some, into the module. Throws UserError (exit 4) when they
/// cannot be read or none fits.
void load_start_weights(torch::nn::Module& module, const NetworkTraining& how, const std::string& name,
                        const NetworkProgress& progress);

}  // namespace bdc::host
