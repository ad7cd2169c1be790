#include "frcnn_crowd.h"

#include <torch/nn.h>
#include <torch/optim.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/hooks/learner_hook.h"
#include "engine/hooks/run_context.h"
#include "frcnn/detector.h"
#include "plugins/builtin_info.h"
#include "plugins/options.h"

namespace {

using namespace bdc::host;
namespace plugin = bdc::plugin;

constexpr int kImages = 400, kClasses = 20, kBatch = 8, kEdge = 160;

/// 3 objects in every image, each drawn by 10 annotators of K in all.
bdc::CrowdData crowd_of(int annotators) {
  bdc::CrowdData crowd;
  for (int j = 0; j < kClasses; ++j) crowd.classes.push_back({{std::to_string(j), true}, std::to_string(j)});
  for (int k = 0; k < annotators; ++k) crowd.annotators.push_back({{std::to_string(k), true}, ""});
  for (int i = 0; i < kImages; ++i) {
    bdc::ImageRecord image;
    image.id = {std::to_string(i), true};
    image.width = image.height = kEdge;
    crowd.images.push_back(image);
    for (int o = 0; o < 3; ++o) {
      for (int n = 0; n < 10; ++n) {
        const auto k = static_cast<std::int32_t>((i * 10 + n) % annotators);
        const double x = 8 + 48 * o + 0.3 * n;
        crowd.annotations.push_back(
            {{x, 32, x + 40, 96}, i, static_cast<std::int32_t>((i + o + (n == 3)) % kClasses), k});
      }
    }
  }
  crowd.finalize();
  return crowd;
}

plugin::Images images_of(int step) {
  plugin::Images out;
  torch::manual_seed(static_cast<std::uint64_t>(step));
  out.pixels = torch::rand({kBatch, 3, kEdge, kEdge});
  for (int b = 0; b < kBatch; ++b) {
    plugin::ImageMeta meta;
    meta.index = (step * kBatch + b) % kImages;
    meta.original_width = meta.original_height = meta.content_width = meta.content_height = kEdge;
    out.meta.push_back(meta);
  }
  return out;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A detector in training with its crowd.
class Run {
 public:
  Run(int annotators, const std::filesystem::path& folder)
      : annotators_(annotators), crowd_(crowd_of(annotators)), context_(make_run_context(crowd_)) {
    hook_ = make_learner_hook("crowd_rcnn", {kClasses, check_options(find_builtin_hook("crowd_rcnn")->options,
                                                                     Json{{"warmup", 0}}, "options")});
    context_.run_folder = folder.string();
    torch::manual_seed(1);
    const Json small = {{"backbone", "resnet18"},
                        {"width", 0.5},
                        {"norm", "batch"},
                        {"pyramid_channels", 64},
                        {"head_channels", 256},
                        {"anchor_sizes", "12, 24, 48, 96, 160"},
                        {"pool_canonical_size", 96},
                        {"rpn_pre_nms_train", 300},
                        {"rpn_post_nms_train", 150},
                        {"rpn_pre_nms_test", 200},
                        {"rpn_post_nms_test", 60},
                        {"rpn_batch", 64},
                        {"roi_batch", 64}};
    detector_ = std::make_unique<frcnn::Detector>(
        plugin::DetectorConfig{kClasses, kEdge, check_options(frcnn::Detector::describe().options, small, "options")});
    detector_->module().train();
    optimizer_ = std::make_unique<torch::optim::SGD>(detector_->module().parameters(),
                                                     torch::optim::SGDOptions(1e-3).momentum(0.9));
    hook_->before_fit(context_);
  }

  void step(int number) {
    const plugin::Images images = images_of(number);
    double in_hook = 0;
    const double whole = seconds_of([&] {
      optimizer_->zero_grad();
      const auto activations = detector_->forward(images);
      const plugin::Predictions seen = detector_->decode(*activations, {0.05, 0.5, 100});
      plugin::Targets targets;
      plugin::LossContext at{&images, &seen, nullptr, &targets};
      in_hook = seconds_of([&] { hook_->before_loss(context_, at); });
      detector_->loss(*activations, targets).total.backward();
      optimizer_->step();
    });
    if (number == 0) return;  // buffers and caches are filled
    steps_.push_back(whole);
    hooks_.push_back(in_hook);
  }

  /// Prints, and returns the best step.
  double report() {
    const double end = seconds_of([&] { hook_->after_epoch(context_); });
    const auto median = [](std::vector<double> all) {
      std::sort(all.begin(), all.end());
      return all[all.size() / 2];
    };
    const double best = *std::min_element(steps_.begin(), steps_.end());
    std::printf(
        "%5d annotators, %zu annotations: step %.2f ms (median %.2f), of which the hook %.3f; epoch's end %.1f\n",
        annotators_, crowd_.annotations.size(), best * 1e3, median(steps_) * 1e3, median(hooks_) * 1e3, end * 1e3);
    return best;
  }

 private:
  int annotators_;
  bdc::CrowdData crowd_;
  plugin::RunContext context_;
  std::unique_ptr<plugin::TrainingHook> hook_;
  std::unique_ptr<frcnn::Detector> detector_;
  std::unique_ptr<torch::optim::SGD> optimizer_;
  std::vector<double> steps_, hooks_;
};

}  // namespace

void crowd_steps(int steps) {
  std::string name = (std::filesystem::temp_directory_path() / "bdc-crowd-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder in " + name);
  Run few(10, name), many(1000, name);
  for (int n = 0; n <= steps; ++n) {
    few.step(n);
    many.step(n);
  }
  const double one = few.report(), other = many.report();
  std::printf("1,000 annotators / 10 annotators: %.3f\n", other / one);
  std::filesystem::remove_all(name);
}
