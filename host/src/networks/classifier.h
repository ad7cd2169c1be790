#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>

#include "synth/network_settings.h"

namespace torch::nn {
class Module;
}

namespace bdc::host {

/// A network that names the class of a crop. Parameters are named, and at width 1 shaped, as torchvision's alexnet,
/// vgg16 and resnet50.
struct Classifier {
  std::shared_ptr<torch::nn::Module> module;
  /// Crops B x 3 x s x s, 0..1 -> logits B x outputs.
  std::function<torch::Tensor(const torch::Tensor& crops)> forward;
};

[[nodiscard]] Classifier make_classifier(const ClassifierSettings& settings, std::int64_t outputs);

}  // namespace bdc::host
