// Detectors, hooks and the training loop on a device that is not the host: no call mixes devices, nobody reads its
// memory from the host, and what goes over the bus in a step does not grow with the targets.

#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "bdc/base/user_error.h"
#include "data/crowd_shapes.h"
#include "data/shapes.h"
#include "engine/detector_handle.h"
#include "engine/hooks/build_hooks.h"
#include "engine/hooks/learner_hook.h"
#include "engine/mixed_precision.h"
#include "engine/trainer.h"
#include "host/device/small_detectors.h"
#include "host/engine/recording_hook.h"
#include "plugins/builtin_info.h"
#include "plugins/loaded_plugin.h"
#include "plugins/options.h"
#include "support/far_device/far_device.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

using far_device::Transfer;
using Transfers = std::vector<Transfer>;

constexpr std::int64_t kSize = 64, kClasses = 3;

std::unique_ptr<DetectorHandle> build(const SmallDetector& small, const torch::Device& device) {
  const LoadedPlugin plugin = LoadedPlugin::load(small.file);
  const auto options = check_options(plugin.detector_info().options, small.options, "");
  return std::make_unique<DetectorHandle>(plugin, plugin::DetectorConfig{kClasses, kSize, options}, 7, device);
}

plugin::Images pictures(std::int64_t count) {
  torch::manual_seed(4);
  plugin::Images out{torch::rand({count, 3, kSize, kSize}), {}};
  for (std::int64_t i = 0; i < count; ++i) {
    plugin::ImageMeta meta;
    meta.index = i;
    meta.original_width = meta.original_height = meta.content_width = meta.content_height = kSize;
    out.meta.push_back(meta);
  }
  return out;
}

/// The same number of targets in every image.
plugin::Targets targets_in(std::int64_t images, std::int64_t in_each) {
  torch::manual_seed(3);
  const std::int64_t count = images * in_each;
  const torch::Tensor corner = torch::rand({count, 2}) * 30, size = torch::rand({count, 2}) * 25 + 8;
  return {torch::cat({corner, corner + size}, 1), torch::rand({count, kClasses}).softmax(1),
          torch::rand({count}) * 0.8 + 0.2, torch::floor_divide(torch::arange(count, torch::kInt64), in_each)};
}

/// What is wrong with one step on the device: it mixes devices, or its loss is not the host's. "": nothing.
std::string mixing_trouble(const SmallDetector& small) {
  try {
    double losses[2];
    for (const bool is_far : {false, true}) {
      const auto detector = build(small, is_far ? far_device::device() : torch::Device(torch::kCPU));
      torch::manual_seed(11);
      const auto activations = detector->forward(pictures(2));
      (void)detector->decode(*activations, {0.001, 0.65, 50}, 2);
      (void)detector->decode_detections(*activations, {0.001, 0.65, 50}, 2);
      torch::manual_seed(12);
      const plugin::LossTerms terms = detector->loss(*activations, targets_in(2, 4));
      terms.total.backward();
      losses[is_far ? 1 : 0] = terms.total.item<double>();
    }
    if (std::abs(losses[0] - losses[1]) > 1e-4 * std::abs(losses[0])) {
      return "the loss is " + std::to_string(losses[1]) + ", on the host " + std::to_string(losses[0]);
    }
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

/// What goes over the bus in a detector's loss.
Transfers transfers_of_loss(DetectorHandle& detector, std::int64_t targets_per_image) {
  const auto activations = detector.forward(pictures(2));
  const plugin::Targets targets = targets_in(2, targets_per_image).to(detector.device());
  far_device::Watch watch;
  const plugin::LossTerms terms = detector.loss(*activations, targets);
  terms.total.backward();
  return watch.take();
}

/// Why a detector's loss waits for the host more often when there are more targets. "": it does not.
std::string transfer_trouble(const SmallDetector& small) {
  const far_device::VisionKernels kernels;
  const auto detector = build(small, far_device::device());
  const Transfers few = transfers_of_loss(*detector, 2), many = transfers_of_loss(*detector, 12);
  const auto waits = [](const Transfers& all) {
    return far_device::count(all, Transfer::Kind::down) + far_device::count(all, Transfer::Kind::number);
  };
  // Nobody waits for what goes up. Where there are more candidates than a sample takes, the choice goes there: of two
  // kinds in each of the two pictures.
  const std::int64_t choices = 4,
                     more = far_device::count(many, Transfer::Kind::up) - far_device::count(few, Transfer::Kind::up);
  if (waits(many) <= waits(few) && more <= choices) return "";
  return "with 4 targets:\n" + far_device::text(few) + "with 24:\n" + far_device::text(many);
}

TEST(FarDevice, RefusesToMixAndCountsWhatGoesOverTheBus) {
  const torch::Tensor here = torch::arange(6.0);
  far_device::Watch watch;
  torch::Tensor there = here.to(far_device::device());
  EXPECT_EQ(there.device(), far_device::device());
  const Transfers up = watch.take();
  ASSERT_EQ(up.size(), 1u) << far_device::text(up);
  EXPECT_EQ(up[0].kind, Transfer::Kind::up);
  EXPECT_EQ(up[0].bytes, 24);
  EXPECT_THROW((void)(there + here), c10::Error);
  EXPECT_NO_THROW((void)(there + torch::tensor(1.0)));
  EXPECT_THROW((void)there.index_select(0, torch::tensor({1, 2})), c10::Error);
  EXPECT_TRUE(watch.take().empty());
  there = there * 2;
  there.slice(0, 0, 2).fill_(7.0);  // a view is the same memory
  EXPECT_TRUE(torch::equal(there.cpu(), torch::tensor({7.F, 7.F, 4.F, 6.F, 8.F, 10.F})));
  EXPECT_EQ(there.sum().item<double>(), 42);
  EXPECT_EQ(there.nonzero().size(0), 6);
  const Transfers down = watch.take();
  EXPECT_EQ(far_device::count(down, Transfer::Kind::down), 1) << far_device::text(down);
  EXPECT_EQ(far_device::count(down, Transfer::Kind::number), 2) << far_device::text(down);
}

TEST(FarDevice, ResizesAndMakesTensorsOfItsOwn) {
  const auto far = torch::TensorOptions().device(far_device::device());
  EXPECT_TRUE(torch::equal(torch::arange(5, far).cpu(), torch::arange(5)));
  EXPECT_TRUE(torch::equal(torch::linspace(0, 1, 5, far).cpu(), torch::linspace(0, 1, 5)));
  torch::Tensor out = torch::empty({0}, far);
  torch::add_out(out, torch::ones({2, 3}, far), torch::ones({2, 3}, far));
  EXPECT_TRUE(torch::equal(out.cpu(), torch::full({2, 3}, 2.F)));
  EXPECT_TRUE(torch::equal(out.t().contiguous().cpu(), torch::full({3, 2}, 2.F)));
}

TEST(FarDeviceDeathTest, ItsMemoryCannotBeReadFromTheHost) {
  const torch::Tensor there = torch::ones({4}).to(far_device::device());
  const auto* address = static_cast<const volatile float*>(there.data_ptr());
  EXPECT_DEATH((void)*address, "");
}

class OnDevice : public testing::TestWithParam<SmallDetector> {
 protected:
  OnDevice() { torch::set_num_threads(1); }
};

TEST_P(OnDevice, AStepMixesNoDevicesAndItsLossIsTheHosts) {
  EXPECT_EQ(mixing_trouble(GetParam()), "");
}

TEST_P(OnDevice, ALossWaitsForTheHostNoMoreOftenWhenThereAreMoreTargets) {
  EXPECT_EQ(transfer_trouble(GetParam()), "");
}

/// Watches the bus: what went over it from the end of one step to the end of the next.
class WatchingHook : public plugin::TrainingHook {
 public:
  void after_step(plugin::RunContext&, const plugin::LossTerms&) override {
    steps.push_back(watch_.take());
    if (on_step) on_step(steps.size());
  }
  std::vector<Transfers> steps;
  std::function<void(std::size_t)> on_step;

 private:
  far_device::Watch watch_;
};

/// A run of two epochs on a small crowd's labels with the hook bdc, EMA, and both kinds of optimiser settings.
struct CrowdRun {
  explicit CrowdRun(const SmallDetector& small, const torch::Device& device, std::string optimizer = "sgd")
      : detector(build(small, device)), train(shapes(8, 1), crowd()), test(shapes(4, 2)) {
    settings.epochs = 2;
    settings.batch_size = 4;
    settings.input_size = kSize;
    settings.learning_rate.start = 0.001;
    settings.optimizer.kind = std::move(optimizer);
    settings.optimizer.clip_norm = 10;
    settings.ema_decay = 0.9;
    settings.hook_limits = {0.01, 0.65, 50};
    settings.limits = {0.001, 0.65, 50};
    torch::set_num_threads(1);
  }
  static ShapesSettings shapes(std::int64_t images, std::uint64_t seed) { return {images, kClasses, kSize, 3, seed}; }
  static CrowdShapesSettings crowd() {
    CrowdShapesSettings out;
    out.average = 3;
    return out;
  }
  TrainResult fit(const Checkpoint* resume = nullptr) {
    std::vector<HookInstance> list;
    const plugin::HookInfo& info = *find_builtin_hook("bdc");
    list.push_back({info, make_learner_hook("bdc", {kClasses, check_options(info.options, Json::object(), "")})});
    auto watching = std::make_unique<WatchingHook>();
    WatchingHook& watch = *watching;
    list.push_back(named_hook("watch", std::move(watching), 100));
    watch.on_step = [&](std::size_t steps_done) { stop = steps_done == stop_after; };
    HookList hooks(std::move(list));
    Trainer trainer({*detector, train, test, hooks, progress, stop, folder.path(), "{}"}, settings);
    TrainResult out = trainer.fit(resume);
    steps = watch.steps;
    return out;
  }
  [[nodiscard]] Checkpoint checkpoint() const { return read_checkpoint(folder.path() / "last.safetensors"); }

  test::TemporaryFolder folder;
  std::unique_ptr<DetectorHandle> detector;
  CrowdShapesData train;
  ShapesData test;
  Progress progress{Progress::Style::quiet};
  std::atomic<bool> stop{false};
  TrainSettings settings;
  std::size_t stop_after = 0;
  std::vector<Transfers> steps;
};

void expect_same_weights(CrowdRun& a, CrowdRun& b, double tolerance) {
  const auto expected = module_state(a.detector->module());
  for (const auto& [name, tensor] : module_state(b.detector->module())) {
    const torch::Tensor one = tensor.cpu().to(torch::kFloat64), other = expected.at(name).cpu().to(torch::kFloat64);
    EXPECT_LE((one - other).abs().max().item<double>(), tolerance) << name;
  }
}

TEST_P(OnDevice, ARunWithBdcTrainsAndEvaluatesThereAndSaysWhatTheHostsRunSays) {
  CrowdRun here(GetParam(), torch::kCPU, "adamw"), there(GetParam(), far_device::device(), "adamw");
  const TrainResult expected = here.fit(), result = there.fit();
  ASSERT_TRUE(result.evaluation.has_value());
  EXPECT_NEAR(result.evaluation->stats[0], expected.evaluation->stats[0], 0.02);
  for (const auto& p : there.detector->module().parameters()) EXPECT_EQ(p.device(), far_device::device());
}

TEST_P(OnDevice, AStepSendsImagesAndTargetsUpAndPredictionsAndLossesDown) {
  const far_device::VisionKernels kernels;
  CrowdRun run(GetParam(), far_device::device());
  (void)run.fit();
  ASSERT_EQ(run.steps.size(), 4u);
  // The second step of the first epoch: between two steps, nothing else.
  const Transfers& step = run.steps[1];
  // Images, four tensors of targets; four of predictions, the loss with its parts, the gradient's norm.
  const Bus& own = GetParam().in_a_step;
  EXPECT_LE(far_device::count(step, Transfer::Kind::up), 5 + own.up) << far_device::text(step);
  EXPECT_LE(far_device::count(step, Transfer::Kind::down), 6 + own.down) << far_device::text(step);
  EXPECT_LE(far_device::count(step, Transfer::Kind::number), own.numbers) << far_device::text(step);
}

TEST_P(OnDevice, ARunThatIsStoppedAndResumedGivesTheBitsOfAnUnbrokenOne) {
  CrowdRun whole(GetParam(), far_device::device()), first(GetParam(), far_device::device()),
      second(GetParam(), far_device::device());
  (void)whole.fit();
  first.stop_after = 3;
  EXPECT_TRUE(first.fit().interrupted);
  const Checkpoint checkpoint = first.checkpoint();
  (void)second.fit(&checkpoint);
  expect_same_weights(whole, second, 0);
}

TEST_P(OnDevice, HalfPrecisionTrainsThereOrIsRefusedWhereLibTorchHasNoAutocastForIt) {
  CrowdRun run(GetParam(), far_device::device());
  run.settings.half_precision = true;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  {
    const auto a = torch::rand({4, 4}).to(far_device::device());
    const HalfPrecision half(far_device::device(), true);
    EXPECT_EQ(torch::mm(a, a).scalar_type(), torch::kBFloat16);
  }
  const TrainResult result = run.fit();
  EXPECT_TRUE(result.evaluation.has_value());
#else
  try {
    (void)run.fit();
    FAIL() << "should be refused";
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::device);
    EXPECT_NE(std::string(e.what()).find("needs LibTorch 2.4"), std::string::npos) << e.what();
  }
#endif
}

INSTANTIATE_TEST_SUITE_P(Detectors, OnDevice, testing::ValuesIn(small_detectors()),
                         [](const auto& c) { return c.param.name; });

TEST(FaultyOnDevice, ATensorForgottenOnTheHostFailsTheTestOfMixingAlone) {
  const SmallDetector small = faulty_detector("forgets_host_tensor");
  EXPECT_NE(mixing_trouble(small).find("on the same device"), std::string::npos) << mixing_trouble(small);
}

TEST(FaultyOnDevice, AWaitPerTargetFailsTheTestOfTransfersAlone) {
  const SmallDetector small = faulty_detector("waits_per_target");
  EXPECT_EQ(mixing_trouble(small), "");
  EXPECT_NE(transfer_trouble(small).find("24 x"), std::string::npos) << transfer_trouble(small);
}

}  // namespace
}  // namespace bdc::host
