#include "networks/classifier.h"

#include <torch/nn.h>

#include "parts/resnet.h"
#include "parts/transform.h"

namespace bdc::host {
namespace {

using torch::Tensor;
namespace nn = torch::nn;

/// Convolutions with pooling, pooled to a fixed grid, and three dense layers: what AlexNet and VGG16 have in common.
class PlainNetwork : public nn::Module {
 public:
  PlainNetwork(nn::Sequential features, std::int64_t grid, nn::Sequential classifier) : grid_(grid) {
    features_ = register_module("features", std::move(features));
    classifier_ = register_module("classifier", std::move(classifier));
    // He's rule: without norms, the signal must neither die nor grow on its way through so many layers.
    for (const auto& item : named_parameters()) {
      torch::Tensor p = item.value();
      p.dim() > 1 ? nn::init::kaiming_normal_(p, 0, torch::kFanIn, torch::kReLU) : nn::init::zeros_(p);
    }
  }
  Tensor classify(const Tensor& x) {
    return classifier_->forward(torch::adaptive_avg_pool2d(features_->forward(x), {grid_, grid_}).flatten(1));
  }

 private:
  std::int64_t grid_;
  nn::Sequential features_{nullptr}, classifier_{nullptr};
};

std::shared_ptr<PlainNetwork> alexnet(double width, std::int64_t outputs) {
  const auto wide = [&](std::int64_t channels) { return parts::scaled_channels(channels, width); };
  const auto pool = [] { return nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2)); };
  nn::Sequential features(nn::Conv2d(nn::Conv2dOptions(3, wide(64), 11).stride(4).padding(2)), nn::ReLU(), pool(),
                          nn::Conv2d(nn::Conv2dOptions(wide(64), wide(192), 5).padding(2)), nn::ReLU(), pool(),
                          nn::Conv2d(nn::Conv2dOptions(wide(192), wide(384), 3).padding(1)), nn::ReLU(),
                          nn::Conv2d(nn::Conv2dOptions(wide(384), wide(256), 3).padding(1)), nn::ReLU(),
                          nn::Conv2d(nn::Conv2dOptions(wide(256), wide(256), 3).padding(1)), nn::ReLU(), pool());
  nn::Sequential classifier(nn::Dropout(0.5), nn::Linear(wide(256) * 36, wide(4096)), nn::ReLU(), nn::Dropout(0.5),
                            nn::Linear(wide(4096), wide(4096)), nn::ReLU(), nn::Linear(wide(4096), outputs));
  return std::make_shared<PlainNetwork>(features, 6, classifier);
}

std::shared_ptr<PlainNetwork> vgg16(double width, std::int64_t outputs) {
  const auto wide = [&](std::int64_t channels) { return parts::scaled_channels(channels, width); };
  nn::Sequential features;
  std::int64_t in = 3;
  for (const std::vector<std::int64_t>& stage : std::vector<std::vector<std::int64_t>>{
           {64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}}) {
    for (const std::int64_t channels : stage) {
      features->push_back(nn::Conv2d(nn::Conv2dOptions(in, wide(channels), 3).padding(1)));
      features->push_back(nn::ReLU());
      in = wide(channels);
    }
    features->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(2)));
  }
  nn::Sequential classifier(nn::Linear(in * 49, wide(4096)), nn::ReLU(), nn::Dropout(0.5),
                            nn::Linear(wide(4096), wide(4096)), nn::ReLU(), nn::Dropout(0.5),
                            nn::Linear(wide(4096), outputs));
  return std::make_shared<PlainNetwork>(features, 7, classifier);
}

class ResNetClassifier : public parts::ResNet {
 public:
  ResNetClassifier(const parts::ResNetOptions& options, std::int64_t outputs) : ResNet(options) {
    fc_ = register_module("fc", nn::Linear(channels().back(), outputs));
  }
  Tensor classify(const Tensor& x) { return fc_(forward(x).back().mean({2, 3})); }

 private:
  nn::Linear fc_{nullptr};
};

template <class M>
Classifier with(std::shared_ptr<M> module) {
  return {module, [net = module.get()](const Tensor& crops) { return net->classify(parts::normalised(crops)); }};
}

}  // namespace

Classifier make_classifier(const ClassifierSettings& settings, std::int64_t outputs) {
  if (settings.kind == "alexnet") return with(alexnet(settings.width, outputs));
  if (settings.kind == "vgg16") return with(vgg16(settings.width, outputs));
  return with(std::make_shared<ResNetClassifier>(
      parts::ResNetOptions{settings.kind, settings.width, parts::NormKind::batch, 1e-5}, outputs));
}

}  // namespace bdc::host
