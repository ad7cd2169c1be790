// Each observer of the training loop on its own, with a state made by hand.

#include <gtest/gtest.h>
#include <torch/nn.h>

#include <filesystem>
#include <limits>

#include "bdc/base/user_error.h"
#include "data/shapes.h"
#include "engine/observers/best_weights.h"
#include "engine/observers/broken_images.h"
#include "engine/observers/checkpoints.h"
#include "engine/observers/early_stop.h"
#include "engine/observers/evaluation.h"
#include "engine/observers/loss_meter.h"
#include "engine/observers/loss_watch.h"
#include "engine/observers/metrics_record.h"
#include "engine/observers/picture_writer.h"
#include "engine/observers/progress_line.h"
#include "plugins/loaded_plugin.h"
#include "plugins/options.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

namespace fs = std::filesystem;

plugin::LossTerms terms(double total, double part) {
  return {torch::tensor(total), {{"box", torch::tensor(part)}}};
}

std::shared_ptr<const CocoEvalResult> measured(double ap) {
  auto out = std::make_shared<CocoEvalResult>();
  out->stats[0] = out->stats[1] = out->stats[2] = ap;
  return out;
}

/// The state after `epochs` epochs, the last of which had this AP; NaN: it was not measured.
LoopState after(std::int64_t epochs, double ap = std::numeric_limits<double>::quiet_NaN()) {
  LoopState state;
  state.at = {epochs, 0, epochs * 2, false};
  state.run.epoch = epochs - 1;
  state.run.num_images = 4;
  state.run.epochs = 5;
  if (ap == ap) state.evaluation = measured(ap);
  return state;
}

TrainSettings some_settings() {
  TrainSettings settings;
  settings.epochs = 5;
  settings.batch_size = 2;
  settings.input_size = 32;
  return settings;
}

TEST(LossMeter, MeansAreOfTheBatchesWithAFiniteLossAndOfOneEpoch) {
  LoopState state;
  LossMeter meter;
  meter.after_batch(state, terms(2, 1));
  meter.after_batch(state, terms(std::numeric_limits<double>::infinity(), 7));
  meter.after_batch(state, terms(4, 2));
  meter.after_steps(state);
  EXPECT_EQ(state.run.metrics, (std::map<std::string, double>{{"train/loss", 3}, {"train/box", 1.5}}));
  LossMeter resumed;
  resumed.restore(Json::parse(meter.save().dump()));
  EXPECT_EQ(resumed.means(), meter.means());
  EXPECT_EQ(resumed.batches(), 2);
  meter.after_epoch(state);
  EXPECT_EQ(meter.batches(), 0);
  EXPECT_TRUE(meter.means().empty());
}

TEST(BestWeights, OnlyABetterApReplacesTheFile) {
  const test::TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  float weight = 1;
  BestWeights best(store,
                   [&] {
                     return std::map<std::string, torch::Tensor>{{"w", torch::tensor({weight})}};
                   },
                   {{"classes", {"a"}}});
  const auto kept = [&] { return read_safetensors(store.best()).tensors.at("w").item<float>(); };
  LoopState state = after(1);
  best.after_epoch(state);
  EXPECT_FALSE(fs::exists(store.best())) << "nothing was measured";
  state = after(2, 0.5);
  best.after_epoch(state);
  EXPECT_EQ(kept(), 1);
  weight = 2;
  state = after(3, 0.5);
  best.after_epoch(state);
  EXPECT_EQ(kept(), 1) << "as good is not better";
  BestWeights resumed(
      store,
      [&] {
        return std::map<std::string, torch::Tensor>{{"w", torch::tensor({weight})}};
      },
      Json::object());
  resumed.restore(best.save());
  EXPECT_EQ(resumed.ap(), 0.5);
  EXPECT_EQ(resumed.epoch(), 2);
  state = after(4, 0.6);
  resumed.after_epoch(state);
  EXPECT_EQ(kept(), 2);
  EXPECT_EQ(resumed.epoch(), 4);
}

TEST(EarlyStop, CountsMeasuredEpochsThatWereNoBetterAndRemembersThem) {
  const test::TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  BestWeights best(
      store,
      [] {
        return std::map<std::string, torch::Tensor>{{"w", torch::ones({1})}};
      },
      Json::object());
  EarlyStop early(best, 2, 1);
  const auto epoch = [&](LoopState state) {
    best.after_epoch(state);
    early.after_epoch(state);
  };
  epoch(after(1));
  epoch(after(2, 0.5));
  epoch(after(3, 0.4));
  epoch(after(4));
  epoch(after(5));
  EXPECT_EQ(early.end_reason(), "") << "two of the three were not measured";
  EarlyStop resumed(best, 2, 1);
  resumed.restore(early.save());
  LoopState state = after(6, 0.5);
  resumed.after_epoch(state);
  EXPECT_EQ(resumed.end_reason(), "AP has not risen for 2 epochs (train.patience); the best was 0.500 in epoch 2");
  epoch(after(6, 0.7));
  epoch(after(7, 0.6));
  EXPECT_EQ(early.end_reason(), "") << "a better one begins anew";
  EarlyStop never(best, 0, 1);
  for (std::int64_t n = 8; n < 30; ++n) {
    state = after(n, 0.1);
    never.after_epoch(state);
  }
  EXPECT_EQ(never.end_reason(), "");
}

TEST(MetricsRecord, WritesOneRecordAnEpochAndClearsTheMetrics) {
  const test::TemporaryFolder folder;
  const TrainSettings settings = some_settings();
  MetricsRecord record(folder.path(), settings);
  LoopState state = after(0);
  record.before_fit(state);
  state = after(1);
  state.images_done = 4;
  state.train_seconds = 2;
  state.run.metrics["hook/x"] = 7;
  record.after_steps(state);
  record.after_epoch(state);
  EXPECT_TRUE(state.run.metrics.empty());
  ASSERT_EQ(record.records().size(), 1u);
  EXPECT_EQ(record.records()[0]["hook/x"].get<double>(), 7);
  EXPECT_EQ(record.records()[0]["train/images_per_second"].get<double>(), 2);
  EXPECT_TRUE(record.records()[0].contains("train/learning_rate"));
  MetricsRecord again(folder.path(), settings);
  state = after(0);
  again.before_fit(state);
  EXPECT_TRUE(again.records().empty()) << "the epoch will be written again";
}

TEST(LossWatch, WarnsOfALossThatHasRunAway) {
  const test::TemporaryFolder folder;
  const TrainSettings settings = some_settings();
  MetricsRecord record(folder.path(), settings);
  Progress progress(Progress::Style::automatic);
  LossWatch watch(record, progress);
  LoopState state = after(0);
  record.before_fit(state);
  testing::internal::CaptureStderr();
  std::int64_t epoch = 0;
  for (const double loss : {5.0, 2.0, 21.0}) {
    state = after(++epoch);
    state.run.metrics["train/loss"] = loss;
    record.after_epoch(state);
    watch.after_epoch(state);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("warning: the loss is ten times what it was at its lowest"), said.rfind("warning: ")) << said;
  EXPECT_NE(said.find("warning: "), std::string::npos);
}

/// Images that cannot be read, as a data set tells of them.
class BrokenData : public ShapesData {
 public:
  using ShapesData::ShapesData;
  [[nodiscard]] std::vector<std::string> broken_images() const override { return broken; }
  std::vector<std::string> broken;
};

TEST(BrokenImages, TellsOfEachOnceAlsoWhenTheRunWasResumedInBetween) {
  BrokenData train({4, 2, 32, 1, 1}), test({2, 2, 32, 1, 2});
  Progress progress(Progress::Style::automatic);
  BrokenImages images({&train, &test}, progress);
  train.broken = {"a.png: torn"};
  LoopState state = after(1);
  testing::internal::CaptureStderr();
  images.after_epoch(state);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "left out: a.png: torn\n1 image left out so far\n");
  EXPECT_EQ(state.run.metrics.at("data/broken_images"), 1);
  train.broken = {"a.png: torn", "b.png: torn"};  // found, not told yet, when the run is interrupted
  const Json saved = Json::parse(images.save().dump());
  train.broken.clear();
  test.broken = {"c.png: torn"};
  BrokenImages resumed({&train, &test}, progress);
  resumed.restore(saved);
  testing::internal::CaptureStderr();
  resumed.after_epoch(state);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "left out: c.png: torn\nleft out: b.png: torn\n3 images left out so far\n");
  EXPECT_EQ(state.run.metrics.at("data/broken_images"), 3);
}

TEST(ProgressLine, OneLineForAnEpochWithLossApAndTheHooksApOfLabels) {
  Progress progress(Progress::Style::automatic);
  const TrainSettings settings = some_settings();
  const LossMeter losses;
  ProgressLine line(progress, settings, losses, {"bdc"});
  LoopState state = after(2, 0.25);
  state.train_seconds = 1.25;
  state.run.metrics = {{"train/loss", 1.5}, {"test/AP", 0.25}, {"test/AP50", 0.5}, {"bdc/AP", 0.75}};
  testing::internal::CaptureStderr();
  line.after_epoch(state);
  state = after(3);
  line.after_epoch(state);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "epoch 2/5  loss 1.500  AP50 0.500  AP 0.250  labels AP 0.750  1.2 s\nepoch 3/5  0.0 s\n");
}

TEST(Pictures, DrawsTheFirstBatchOfSomeEpochsAndTheCurves) {
  const test::TemporaryFolder folder;
  const TrainSettings settings = some_settings();
  const ShapesData data({4, 2, 32, 1, 1});
  Progress progress(Progress::Style::quiet);
  MetricsRecord record(folder.path(), settings);
  PictureWriter pictures(folder.path(), class_names(data.labels()), record, progress);
  LoopState state = after(0);
  state.run.epochs = 10;  // every second epoch
  record.before_fit(state);
  pictures.before_fit(state);
  const Batch batch = make_batch(data, {0, 1}, 32);
  for (const std::int64_t epoch : {0, 1}) {
    for (const std::int64_t position : {0, 1}) {
      state.at = {epoch, position, 0, true};
      pictures.before_loss(state, batch);
    }
  }
  EXPECT_TRUE(fs::exists(folder.path() / "pictures/batch_epoch_1.png"));
  EXPECT_FALSE(fs::exists(folder.path() / "pictures/batch_epoch_2.png"));
  state.run.metrics["train/loss"] = 1;
  record.after_epoch(state);
  pictures.after_epoch(state);
  EXPECT_TRUE(fs::exists(folder.path() / "learning_curve.png"));
  EXPECT_FALSE(fs::exists(folder.path() / "precision_recall.png")) << "nothing was measured";
}

TEST(Checkpoints, SavesEverySoManyStepsAtTheEndOfAnEpochAndOnAnInterruptButNeverTheSamePlaceTwice) {
  const test::TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  LoopState state;
  int saved = 0;
  Checkpoints checkpoints(store, 2, [&] {
    ++saved;
    Checkpoint c;
    c.position = state.at;
    c.metrics["waiting"] = 3;
    c.observers["x"] = {{"y", 1}};
    c.config = "{}";
    c.random_state = torch::zeros({1}, torch::kUInt8);
    return c;
  });
  for (state.at.step = 1; state.at.step <= 4; ++state.at.step) checkpoints.after_step(state);
  EXPECT_EQ(saved, 2);
  state.at = {1, 0, 4, false};
  checkpoints.after_epoch(state);
  checkpoints.interrupted(state);
  EXPECT_EQ(saved, 3);
  state.at.begun = true;
  checkpoints.interrupted(state);
  EXPECT_EQ(saved, 4);
  const Checkpoint read = read_checkpoint(store.last());
  EXPECT_TRUE(read.position == state.at);
  EXPECT_EQ(read.metrics.at("waiting"), 3);
  EXPECT_EQ(read.observers.at("x").at("y").get<int>(), 1);
  state.run.rank = 1;
  state.at.step = 9;
  checkpoints.interrupted(state);
  EXPECT_EQ(saved, 5) << "every rank has a part in the snapshot";
  EXPECT_FALSE(read_checkpoint(store.last()).position == state.at) << "but one of them writes";
}

/// Images that nobody knows anything of.
class WithoutTruth : public Dataset {
 public:
  [[nodiscard]] const CrowdData& labels() const override { return labels_; }
  [[nodiscard]] cv::Mat image(std::int64_t) const override { throw BrokenImage("never asked for"); }

 private:
  CrowdData labels_;
};

TEST(Evaluation, MeasuresEverySoManyEpochsAndInTheLast) {
  const LoadedPlugin plugin = LoadedPlugin::load(BDC_BUILD_FOLDER "/plugins/minimal.so");
  DetectorHandle detector(plugin, {2, 32, check_options(plugin.detector_info().options, Json{{"width", 4}}, "")}, 5);
  Ema ema(detector.module(), 0);
  const ShapesData test({2, 2, 32, 1, 2});
  const WithoutTruth nothing;
  Progress progress(Progress::Style::quiet);
  TrainSettings settings = some_settings();
  settings.evaluate_every = 2;
  Evaluation evaluation(detector, ema, test, settings, progress);
  std::vector<std::int64_t> measured_in;
  for (std::int64_t epoch = 0; epoch < settings.epochs; ++epoch) {
    LoopState state;
    state.at.epoch = epoch;
    evaluation.after_steps(state);
    if (!state.evaluation) continue;
    measured_in.push_back(epoch + 1);
    EXPECT_EQ(state.run.metrics.at("test/AP50"), state.evaluation->stats[1]);
    EXPECT_EQ(state.evaluation, evaluation.latest());
  }
  EXPECT_EQ(measured_in, (std::vector<std::int64_t>{2, 4, 5}));
  Evaluation blind(detector, ema, nothing, settings, progress);
  LoopState state;
  state.at.epoch = 1;
  blind.after_steps(state);
  EXPECT_EQ(state.evaluation, nullptr);
}

}  // namespace
}  // namespace bdc::host
