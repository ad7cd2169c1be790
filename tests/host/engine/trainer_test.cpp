// The training loop with the example detector and recording hooks: the exact sequence of stages.

#include "engine/trainer.h"

#include <gtest/gtest.h>
#include <torch/nn.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>

#include "bdc/base/now_seconds.h"
#include "bdc/base/user_error.h"
#include "data/crowd_shapes.h"
#include "data/shapes.h"
#include "engine/observers/loss_watch.h"
#include "host/engine/recording_hook.h"
#include "plugins/loaded_plugin.h"
#include "plugins/options.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

using Calls = std::vector<std::string>;

/// A run of two epochs with two steps each, with one hook "r".
struct SmallRun {
  explicit SmallRun(const std::string& throw_at = "", int throw_at_count = 1)
      : plugin(LoadedPlugin::load(BDC_BUILD_FOLDER "/plugins/minimal.so")),
        detector(plugin, {2, 32, check_options(plugin.detector_info().options, Json{{"width", 4}}, "")}, 5),
        train({4, 2, 32, 1, 1}),
        test({2, 2, 32, 1, 2}),
        recorder(new RecordingHook("r", calls, throw_at, throw_at_count)),
        hooks([&] {
          std::vector<HookInstance> list;
          list.push_back(named_hook("r", std::unique_ptr<plugin::TrainingHook>(recorder)));
          list.back().info.needs_predictions = true;
          return HookList(std::move(list));
        }()),
        progress(Progress::Style::quiet) {
    settings.epochs = 2;
    settings.batch_size = 2;
    settings.input_size = 32;
    settings.seed = 5;
    settings.learning_rate.start = 0.01;
    settings.optimizer.kind = "adamw";
    torch::set_num_threads(1);
  }
  TrainResult fit(const Checkpoint* resume = nullptr) {
    Trainer trainer({detector, train, test, hooks, progress, stop, folder.path(), "{}"}, settings);
    return trainer.fit(resume);
  }
  [[nodiscard]] Checkpoint checkpoint() const { return read_checkpoint(folder.path() / "last.safetensors"); }

  test::TemporaryFolder folder;
  Calls calls;
  LoadedPlugin plugin;
  DetectorHandle detector;
  ShapesData train, test;
  RecordingHook* recorder;
  HookList hooks;
  Progress progress;
  std::atomic<bool> stop{false};
  TrainSettings settings;
};

const Calls kEpoch = {"r.before_epoch", "r.before_loss", "r.after_step",
                      "r.before_loss",  "r.after_step",  "r.after_epoch"};

Calls joined(std::initializer_list<Calls> parts) {
  Calls out;
  for (const auto& p : parts) out.insert(out.end(), p.begin(), p.end());
  return out;
}

TEST(Trainer, ANormalRunCallsEveryStageInOrder) {
  SmallRun run;
  const TrainResult result = run.fit();
  EXPECT_FALSE(result.interrupted);
  EXPECT_TRUE(result.evaluation.has_value());
  EXPECT_EQ(run.calls, joined({{"r.before_fit"}, kEpoch, kEpoch, {"r.after_fit"}}));
}

TEST(Trainer, AnExceptionInAStageReachesOnExceptionThenAfterFitThenTheCaller) {
  SmallRun run("before_loss", 2);
  EXPECT_THROW((void)run.fit(), UserError);
  EXPECT_EQ(run.calls, (Calls{"r.before_fit", "r.before_epoch", "r.before_loss", "r.after_step", "r.before_loss",
                              "r.on_exception(before_loss)", "r.after_fit"}));
}

TEST(Trainer, AnExceptionInAfterFitOfAGoodRunReachesTheCaller) {
  SmallRun run("after_fit");
  EXPECT_THROW((void)run.fit(), UserError);
  EXPECT_EQ(run.calls, joined({{"r.before_fit"}, kEpoch, kEpoch, {"r.after_fit"}}));
}

TEST(Trainer, AnInterruptFinishesTheStepSavesAndCallsAfterFit) {
  SmallRun run;
  run.recorder->on_step = [&](int step) { run.stop = step == 1; };
  EXPECT_TRUE(run.fit().interrupted);
  EXPECT_EQ(run.calls, (Calls{"r.before_fit", "r.before_epoch", "r.before_loss", "r.after_step", "r.after_fit"}));
  EXPECT_EQ(run.checkpoint().position.step, 1);
  EXPECT_EQ(run.checkpoint().position.position, 1);
  EXPECT_EQ(run.checkpoint().hooks.at("r"), "1");
}

TEST(Trainer, AResumedRunLoadsStatesFirstAndGoesOnInTheMiddleOfTheEpoch) {
  SmallRun first;
  first.recorder->on_step = [&](int step) { first.stop = step == 1; };
  (void)first.fit();
  SmallRun second;
  const Checkpoint checkpoint = first.checkpoint();
  EXPECT_FALSE(second.fit(&checkpoint).interrupted);
  EXPECT_EQ(second.calls,
            joined({{"r.load_state(1)", "r.before_fit(resumed)", "r.before_loss", "r.after_step", "r.after_epoch"},
                    kEpoch,
                    {"r.after_fit"}}));
}

/// A record of metrics.jsonl without what differs from run to run.
std::string without_times(const Json& record) {
  Json out = Json::object();
  for (const auto& [key, value] : record.items()) {
    if (key.rfind("seconds/", 0) != 0 && key != "train/images_per_second") out[key] = value;
  }
  return out.dump();
}

std::int64_t batches_of(const Checkpoint& checkpoint) {
  return checkpoint.observers.at("loss_meter").at("batches").get<std::int64_t>();
}

Checkpoint checkpoint_of_a_run_stopped_after(int steps) {
  SmallRun run;
  run.recorder->on_step = [&](int step) { run.stop = step == steps; };
  EXPECT_TRUE(run.fit().interrupted);
  return run.checkpoint();
}

TEST(Trainer, AnInterruptAfterAnyStepAndAResumeGiveTheMetricsOfAnUnbrokenRun) {
  SmallRun whole;
  (void)whole.fit();
  const std::vector<Json> expected = read_metrics(whole.folder.path());
  ASSERT_EQ(expected.size(), 2u);
  ASSERT_TRUE(expected[0].contains("train/loss"));
  ASSERT_TRUE(expected[0].contains("r/before_fit")) << "hooks' metrics count, too";
  ASSERT_FALSE(expected[1].contains("r/before_fit"));
  for (int stop_after = 1; stop_after <= 3; ++stop_after) {
    const Checkpoint checkpoint = checkpoint_of_a_run_stopped_after(stop_after);
    SmallRun second;
    EXPECT_EQ(batches_of(checkpoint), stop_after == 2 ? 2 : 1) << "those of the epoch, up to the interrupt";
    (void)second.fit(&checkpoint);
    const std::vector<Json> records = read_metrics(second.folder.path());
    ASSERT_EQ(records.size(), stop_after == 3 ? 1u : 2u);
    for (std::size_t n = 0; n < records.size(); ++n) {
      EXPECT_EQ(without_times(records[n]), without_times(expected[n + 2 - records.size()])) << stop_after;
    }
    EXPECT_EQ(batches_of(second.checkpoint()), 0) << "the epoch is over";
  }
}

TEST(Trainer, ACheckpointWithoutStatesOfObserversIsResumed) {
  Checkpoint checkpoint = checkpoint_of_a_run_stopped_after(1);
  checkpoint.observers.clear();
  SmallRun second;
  EXPECT_FALSE(second.fit(&checkpoint).interrupted);
  const std::vector<Json> records = read_metrics(second.folder.path());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(records[0].contains("train/loss")) << "of the rest of the epoch";
}

TEST(Trainer, AnInterruptAfterAnyStepAndAResumeGiveTheBitsOfAnUnbrokenRun) {
  SmallRun whole;
  (void)whole.fit();
  const auto expected = module_state(whole.detector.module());
  for (int stop_after = 1; stop_after <= 3; ++stop_after) {
    const Checkpoint checkpoint = checkpoint_of_a_run_stopped_after(stop_after);
    SmallRun second;
    (void)second.fit(&checkpoint);
    for (const auto& [name, tensor] : module_state(second.detector.module()))
      EXPECT_TRUE(torch::equal(tensor, expected.at(name))) << name;
    EXPECT_EQ(second.recorder->steps, 4);
  }
}

/// Passes on a data set and calls `on_image` before every image; throws for broken ones.
class WatchedData : public Dataset {
 public:
  explicit WatchedData(const Dataset& inner) : inner_(inner) {}
  [[nodiscard]] const CrowdData& labels() const override { return inner_.labels(); }
  [[nodiscard]] cv::Mat image(std::int64_t index) const override {
    if (on_image) on_image();
    if (broken.count(index) > 0) throw BrokenImage("image " + std::to_string(index));
    return inner_.image(index);
  }
  std::function<void()> on_image;
  std::set<std::int64_t> broken;

 private:
  const Dataset& inner_;
};

/// Interrupts a run where `stop_it` makes it, resumes it, and expects that together they did what an unbroken one does.
void expect_no_stage_twice(const std::function<void(SmallRun& run, WatchedData& test)>& stop_it) {
  SmallRun whole;
  (void)whole.fit();
  SmallRun first;
  WatchedData watched(first.test);
  stop_it(first, watched);
  Trainer trainer(
      {first.detector, first.train, watched, first.hooks, first.progress, first.stop, first.folder.path(), "{}"},
      first.settings);
  ASSERT_TRUE(trainer.fit().interrupted);
  SmallRun second;
  const Checkpoint checkpoint = first.checkpoint();
  EXPECT_FALSE(second.fit(&checkpoint).interrupted);
  Calls calls;
  for (const Calls* part : {&first.calls, &second.calls}) {
    for (const std::string& call : *part) {
      if (call.find("_fit") == std::string::npos && call.find("load_state") == std::string::npos) calls.push_back(call);
    }
  }
  EXPECT_EQ(calls, joined({kEpoch, kEpoch}));
  for (const auto& [name, tensor] : module_state(second.detector.module()))
    EXPECT_TRUE(torch::equal(tensor, module_state(whole.detector.module()).at(name))) << name;
  EXPECT_EQ(without_times(read_metrics(second.folder.path()).back()),
            without_times(read_metrics(whole.folder.path()).back()));
}

TEST(Trainer, AnInterruptInBeforeEpochIsNoReasonToCallItAgain) {
  expect_no_stage_twice([](SmallRun& run, WatchedData&) {
    run.recorder->on_before_epoch = [&run] { run.stop = run.recorder->steps == 2; };
  });
}

TEST(Trainer, AnInterruptInAfterEpochIsNoReasonToCallBeforeEpochTwice) {
  expect_no_stage_twice(
      [](SmallRun& run, WatchedData&) { run.recorder->on_after_epoch = [&run] { run.stop = true; }; });
}

TEST(Trainer, AnInterruptDuringTheEvaluationIsNoReasonToCallBeforeEpochTwice) {
  expect_no_stage_twice([](SmallRun& run, WatchedData& test) { test.on_image = [&run] { run.stop = true; }; });
}

TEST(Trainer, PatienceCountsOnlyEpochsInWhichApWasMeasured) {
  SmallRun run;
  run.settings.epochs = 9;
  run.settings.evaluate_every = 2;
  run.settings.patience = 1;
  run.settings.learning_rate.start = 0;  // AP never rises after the first time
  const TrainResult result = run.fit();
  EXPECT_TRUE(result.stopped_early);
  EXPECT_EQ(result.best_epoch, 2);
  EXPECT_EQ(run.checkpoint().position.epoch, 4);
  const Checkpoint checkpoint = run.checkpoint();
  SmallRun again;
  again.settings = run.settings;
  EXPECT_TRUE(again.fit(&checkpoint).was_finished);
}

TEST(Trainer, ABatchWithoutAnImageThatCanBeReadEndsItsGroupOfAccumulatedBatches) {
  SmallRun run;
  const ShapesData shapes({8, 2, 32, 1, 1});
  WatchedData train(shapes);
  run.settings.epochs = 1;
  run.settings.accumulate = 2;
  const auto batches = epoch_batches(run.settings, 0, 8);
  train.broken.insert(batches[1].begin(), batches[1].end());
  Trainer trainer({run.detector, train, run.test, run.hooks, run.progress, run.stop, run.folder.path(), "{}"},
                  run.settings);
  EXPECT_FALSE(trainer.fit().interrupted);
  EXPECT_EQ(run.calls, (Calls{"r.before_fit", "r.before_epoch", "r.before_loss", "r.after_step", "r.before_loss",
                              "r.before_loss", "r.after_step", "r.after_epoch", "r.after_fit"}));
}

/// Ranks that are not there: sums come out as if `size` of them had the same numbers.
class EqualRanks : public Communicator {
 public:
  EqualRanks(int rank, int size) : rank_(rank), size_(size) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void all_reduce(Span<float> bucket) override {
    for (float& value : bucket) value *= static_cast<float>(size_);
  }

 private:
  int rank_, size_;
};

/// Norm of the gradient that a step takes after `batches` losses, each the sum of all weights.
double norm_of_step(std::int64_t accumulate, int batches, Communicator& ranks) {
  SmallRun run;
  run.settings.accumulate = accumulate;
  WeightUpdater updater(run.detector, run.settings, ranks);
  for (int n = 0; n < batches; ++n) {
    torch::Tensor loss = torch::zeros({});
    for (const auto& p : run.detector.module().parameters()) loss = loss + p.sum();
    updater.add(loss);
  }
  return updater.step(0.01);
}

TEST(WeightUpdater, AStepTakesTheMeanGradientOfTheBatchesThatItHas) {
  SmallRun run;
  double weights = 0;
  for (const auto& p : run.detector.module().parameters()) weights += static_cast<double>(p.numel());
  EXPECT_NEAR(norm_of_step(1, 1, Communicator::alone()), std::sqrt(weights), 1e-3);
  EXPECT_NEAR(norm_of_step(4, 4, Communicator::alone()), std::sqrt(weights), 1e-3);
  EXPECT_NEAR(norm_of_step(4, 3, Communicator::alone()), std::sqrt(weights), 1e-3) << "the last group of an epoch";
}

TEST(WeightUpdater, SeveralRanksTakeTheMeanOfTheirGradients) {
  EqualRanks three(0, 3);
  EXPECT_NEAR(norm_of_step(1, 1, three), norm_of_step(1, 1, Communicator::alone()), 1e-3);
}

TEST(Trainer, OnlyRank0WritesToTheRunFolder) {
  SmallRun run;
  EqualRanks ranks(1, 2);
  Trainer trainer(
      {run.detector, run.train, run.test, run.hooks, run.progress, run.stop, run.folder.path(), "{}", ranks},
      run.settings);
  EXPECT_FALSE(trainer.fit().interrupted);
  EXPECT_TRUE(std::filesystem::is_empty(run.folder.path()));
}

TEST(Trainer, WhatNoHookAsksForIsNotMade) {
  struct Look : plugin::TrainingHook {
    void before_loss(plugin::RunContext& run, plugin::LossContext& step) override {
      EXPECT_EQ(run.rank, 0);
      EXPECT_EQ(run.size, 1);
      EXPECT_FALSE(run.has_truth && run.labels->truth.empty());
      saw_crowd = step.crowd != nullptr && step.crowd->boxes.defined();
      saw_targets = step.targets->size() > 0;
      saw_predictions = step.predictions != nullptr;
    }
    void after_epoch(plugin::RunContext& run) override {
      run.predict_training_set([&](std::size_t image, const DetectedBoxes&) { EXPECT_EQ(image, predicted++); });
    }
    bool saw_crowd = false, saw_targets = false, saw_predictions = false;
    std::size_t predicted = 0;
  };
  CrowdShapesSettings crowd;
  crowd.experts = 2;
  const CrowdShapesData train({4, 2, 32, 1, 1}, crowd);
  for (const bool asks : {false, true}) {
    SmallRun run;
    run.settings.epochs = 1;
    auto owned = std::make_unique<Look>();
    const Look& look = *owned;
    std::vector<HookInstance> list;
    list.push_back(named_hook("look", std::move(owned)));
    list.back().info.needs_crowd = list.back().info.needs_predictions = asks;
    list.back().info.replaces_targets = !asks;
    HookList hooks(std::move(list));
    Trainer trainer({run.detector, train, run.test, hooks, run.progress, run.stop, run.folder.path(), "{}"},
                    run.settings);
    (void)trainer.fit();
    EXPECT_EQ(look.saw_crowd, asks);
    EXPECT_EQ(look.saw_predictions, asks);
    EXPECT_EQ(look.saw_targets, asks);
    EXPECT_EQ(look.predicted, 4u);
  }
}

TEST(Trainer, ALossThatIsNotFiniteIsPlacedAlikeInTheMessageAndTheFile) {
  SmallRun run;
  run.settings.evaluate_every = 5;
  struct Spoil : plugin::TrainingHook {
    explicit Spoil(torch::nn::Module& spoilt) : module(spoilt) {}
    void after_step(plugin::RunContext&, const plugin::LossTerms&) override {
      if (++steps != 3) return;
      torch::NoGradGuard no_grad;
      for (auto& p : module.parameters()) p.fill_(std::numeric_limits<float>::quiet_NaN());
    }
    torch::nn::Module& module;
    int steps = 0;
  };
  std::vector<HookInstance> list;
  list.push_back(named_hook("spoil", std::make_unique<Spoil>(run.detector.module())));
  HookList hooks(std::move(list));
  Trainer trainer({run.detector, run.train, run.test, hooks, run.progress, run.stop, run.folder.path(), "{}"},
                  run.settings);
  try {
    (void)trainer.fit();
    FAIL() << "the loss was not finite";
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::non_finite);
    const std::string message = e.what();
    EXPECT_NE(message.find("not finite in epoch 2, step 2;"), std::string::npos) << message;
    EXPECT_NE(message.find("--set output.name= --set train.learning_rate=0.001\n"), std::string::npos) << message;
  }
  const Json report = Json::parse(test::read_file(run.folder.path() / "non_finite.json"));
  EXPECT_EQ(report["epoch"].get<int>(), 2);
  EXPECT_EQ(report["step"].get<int>(), 2);
  EXPECT_EQ(report["global_step"].get<int>(), 4);
  ASSERT_EQ(report["images"].size(), 2u);
  for (const Json& image : report["images"]) {
    EXPECT_TRUE(image.contains("id"));
    EXPECT_TRUE(image.contains("file"));
  }
}

TEST(Trainer, APictureThatCannotBeWrittenIsAWarningToldOnce) {
  SmallRun run;
  run.folder.write("pictures", "a file where the folder should be");
  Progress loud(Progress::Style::automatic);
  Trainer trainer({run.detector, run.train, run.test, run.hooks, loud, run.stop, run.folder.path(), "{}"},
                  run.settings);
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW((void)trainer.fit());
  const std::string said = testing::internal::GetCapturedStderr();
  const auto first = said.find("warning: " + (run.folder.path() / "pictures/batch_epoch_1.png").string());
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("warning: ", first + 1), std::string::npos) << "there is a picture in both epochs: " << said;
  EXPECT_EQ(run.checkpoint().position.epoch, 2);
  EXPECT_EQ(read_metrics(run.folder.path()).size(), 2u);
}

TEST(Trainer, HooksSeePredictionsAndMayReplaceTargets) {
  SmallRun run;
  struct Swap : plugin::TrainingHook {
    void before_loss(plugin::RunContext&, plugin::LossContext& step) override {
      ASSERT_NE(step.predictions, nullptr);
      EXPECT_EQ(step.crowd, nullptr);
      const auto none = torch::zeros({0}, torch::kInt64);
      *step.targets = plugin::Targets::hard(torch::zeros({0, 4}), none, none, 2);
    }
  };
  std::vector<HookInstance> list;
  list.push_back(named_hook("swap", std::make_unique<Swap>()));
  list.back().info.needs_predictions = true;
  HookList hooks(std::move(list));
  Trainer trainer({run.detector, run.train, run.test, hooks, run.progress, run.stop, run.folder.path(), "{}"},
                  run.settings);
  EXPECT_NO_THROW((void)trainer.fit());
}

TEST(Trainer, TheSecondsOfEveryStageAddUpToTheEpoch) {
  SmallRun run;
  const double before = now_seconds();
  (void)run.fit();
  const double elapsed = now_seconds() - before;
  double sum = 0;
  for (const Json& record : read_metrics(run.folder.path())) {
    for (const char* stage : {"loading", "forward", "hooks", "loss", "backward", "optimiser", "evaluation"}) {
      const std::string key = std::string("seconds/") + stage;
      ASSERT_TRUE(record.contains(key)) << key;
      EXPECT_GE(record[key].get<double>(), 0) << key;
      sum += record[key].get<double>();
    }
  }
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, elapsed);
}

TEST(Trainer, HalfPrecisionTrainsAndKeepsFloatWeights) {
  SmallRun run;
  run.settings.half_precision = true;
  const TrainResult result = run.fit();
  EXPECT_FALSE(result.interrupted);
  const Checkpoint saved = run.checkpoint();
  for (const auto& [name, tensor] : saved.model) {
    if (!tensor.is_floating_point()) continue;
    EXPECT_EQ(tensor.scalar_type(), torch::kFloat32) << name;
    EXPECT_TRUE(torch::isfinite(tensor).all().item<bool>()) << name;
  }
}

TEST(Schedule, WarmsUpThenFallsToItsFinalShare) {
  for (const char* schedule : {"cosine", "linear", "step"}) {
    LearningRate rate;
    rate.start = 1;
    rate.schedule = schedule;
    rate.warmup_steps = 10;
    EXPECT_NEAR(rate.at(0, 1000), 0.1, 1e-3) << schedule;
    EXPECT_NEAR(rate.at(9, 1000), 1.0, 1e-2) << schedule;
    EXPECT_NEAR(rate.at(999, 1000), 0.01, 1e-9) << schedule;
    for (int i = 10; i < 999; ++i) EXPECT_LE(rate.at(i + 1, 1000), rate.at(i, 1000)) << schedule;
  }
  LearningRate constant;
  constant.start = 1;
  constant.schedule = "constant";
  EXPECT_EQ(constant.at(999, 1000), 1.0);
}

TEST(LossWatch, TellsOnceWhenTheLossIsTenTimesItsLowestAndAboveTheFirst) {
  const auto run_away = [](const std::vector<double>& losses) {
    std::vector<Json> records;
    for (const double loss : losses) records.push_back({{"train/loss", loss}});
    return has_run_away(records);
  };
  EXPECT_TRUE(run_away({5, 2, 21}));
  EXPECT_FALSE(run_away({5, 2, 19}));
  EXPECT_FALSE(run_away({5, 2, 21, 30})) << "it was told an epoch ago";
  EXPECT_TRUE(run_away({5, 2, 21, 3, 40})) << "it had come back";
  EXPECT_FALSE(run_away({5, 0.01, 0.5})) << "still below the first epoch's";
  EXPECT_FALSE(run_away({5}));
  EXPECT_FALSE(has_run_away({}));
  EXPECT_FALSE(has_run_away({{{"train/loss", 1}}, Json::object()}));
}

TEST(TrainSettings, StepsOfAnEpochCountTheLastSmallBatch) {
  TrainSettings settings;
  settings.batch_size = 4;
  settings.accumulate = 2;
  EXPECT_EQ(settings.batches_per_epoch(17), 5);
  EXPECT_EQ(settings.steps_per_epoch(17), 3);
}

TEST(Ema, FollowsTheWeightsAndGivesThemBackUntouched) {
  torch::nn::Linear layer(2, 1);
  Ema ema(*layer, 0.5);
  const auto before = layer->weight.detach().clone();
  {
    torch::NoGradGuard no_grad;
    layer->weight.add_(1);
  }
  const auto own = layer->weight.detach().clone();
  for (int i = 0; i < 3; ++i) ema.update();
  // The decay ramps up from 0 over 2000 updates: after three it is all but 0, so the mean is at the new weights.
  EXPECT_TRUE(torch::allclose(ema.state().at("weight"), own, 0, 1e-2));
  EXPECT_FALSE(torch::equal(ema.state().at("weight"), before));
  {
    const Ema::Lent lent(ema);
    EXPECT_TRUE(torch::equal(layer->weight.detach(), ema.state().at("weight")));
  }
  EXPECT_TRUE(torch::equal(layer->weight.detach(), own));
  const Ema off(*layer, 0);
  EXPECT_TRUE(off.state().empty());
}

TEST(EpochOrder, IsAPermutationThatDependsOnSeedAndEpochAlone) {
  auto order = epoch_order(3, 5, 100);
  EXPECT_EQ(order, epoch_order(3, 5, 100));
  EXPECT_NE(order, epoch_order(3, 6, 100));
  EXPECT_NE(order, epoch_order(4, 5, 100));
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace bdc::host
