#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <nlohmann/json.hpp>

#include "engine/hooks/learner_hook.h"
#include "engine/hooks/run_context.h"
#include "plugins/builtin_info.h"
#include "plugins/options.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

constexpr double kImage = 100, kShift = 6;

/// Many images with one object each; annotator 0 draws everything kShift pixels too far left, the others are exact.
CrowdData leftward_crowd(int images) {
  CrowdData crowd;
  crowd.classes.push_back({{"1", true}, "thing"});
  for (const char* name : {"left", "exact", "careful"}) crowd.annotators.push_back({{name, false}, name});
  for (int i = 0; i < images; ++i) {
    ImageRecord image;
    image.id = {std::to_string(i), true};
    image.width = image.height = static_cast<int>(kImage);
    crowd.images.push_back(image);
    const double x = 15 + i % 40, y = 20 + i % 7;
    for (int k = 0; k < 3; ++k) {
      const double shift = k == 0 ? -kShift : 0.0;
      crowd.annotations.push_back({{x + shift, y, x + shift + 30, y + 20}, i, 0, k});
    }
  }
  crowd.finalize();
  return crowd;
}

/// What `annotator` was learnt to add to x1, in box widths, when every image is flipped left-right on its way to the
/// detector, which sees every object where it is. is_mapped: whether the batch says so.
double learnt_bias(bool is_mapped, const char* profile) {
  const CrowdData crowd = leftward_crowd(60);
  const test::TemporaryFolder folder;
  const plugin::HookInfo& info = *find_builtin_hook("bdc");
  const auto hook =
      make_learner_hook("bdc", {1, check_options(info.options, Json{{"profile", profile}, {"warmup", 0}}, "options")});
  plugin::RunContext run = make_run_context(crowd);
  run.run_folder = folder.path().string();
  hook->before_fit(run);
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    plugin::Images images;
    images.pixels = torch::zeros({1, 3, 100, 100});
    plugin::ImageMeta meta;
    meta.index = static_cast<std::int64_t>(i);
    meta.original_width = meta.original_height = meta.content_width = meta.content_height = 100;
    if (is_mapped) meta.to_input.m = {-1, 0, kImage, 0, 1, 0};
    images.meta = {meta};
    const Box& exact = crowd.annotations[crowd.annotation_begin[i] + 1].box;
    plugin::Predictions seen;
    seen.boxes = torch::tensor({static_cast<float>(kImage - exact.x2), static_cast<float>(exact.y1),
                                static_cast<float>(kImage - exact.x1), static_cast<float>(exact.y2)})
                     .reshape({1, 4});
    seen.scores = torch::tensor({0.9f});
    seen.class_probs = torch::ones({1, 1});
    seen.image_index = torch::zeros({1}, torch::kInt64);
    plugin::Targets targets;
    plugin::LossContext step{&images, &seen, nullptr, &targets};
    hook->before_loss(run, step);
    if (is_mapped) {  // the target lies where the flipped object is
      EXPECT_GT(targets.size(), 0);
      EXPECT_NEAR(targets.boxes[0][0].item<double>(), kImage - exact.x2, kShift);
    }
  }
  hook->after_epoch(run);
  const auto learnt = nlohmann::json::parse(test::read_file(folder.path() / "annotators.json"));
  const auto& box = learnt["annotators"][0]["box"];
  return box["deviation_sum"][0].get<double>() / box["count"].get<double>();
}

TEST(BdcHook, AFlipLeavesALeftwardBiasLeftward) {
  EXPECT_NEAR(learnt_bias(true, "reference"), -kShift / 30, 0.02);
  EXPECT_LT(learnt_bias(true, "absence_aware"), -0.05);
}

struct Learnt {
  double bias;  ///< to x1, in box widths
  std::int64_t boxes;
};

/// The same of a crowd of which every image has an input of its own, a mosaic with three others or alone; in mosaics,
/// images at the right are flipped.
Learnt learnt_in_mosaics(bool is_mosaic, const char* profile) {
  const CrowdData crowd = leftward_crowd(60);
  const test::TemporaryFolder folder;
  const auto hook = make_learner_hook("bdc", {1, check_options(find_builtin_hook("bdc")->options,
                                                               Json{{"profile", profile}, {"warmup", 0}}, "options")});
  plugin::RunContext run = make_run_context(crowd);
  run.run_folder = folder.path().string();
  hook->before_fit(run);
  const auto count = static_cast<std::int64_t>(crowd.images.size());
  for (std::int64_t i = 0; i < count; ++i) {
    plugin::Images images{torch::zeros({1, 3, 200, 200}), {}};
    plugin::ImageMeta meta;
    meta.index = i;
    meta.original_width = meta.original_height = 100;
    meta.content_width = meta.content_height = 200;
    for (std::int64_t q = 0; is_mosaic && q < 4; ++q) {
      const double x = q % 2 == 0 ? 0 : 100, y = q < 2 ? 0 : 100;
      const plugin::Affine straight{{1, 0, x, 0, 1, y}}, flipped{{-1, 0, x + kImage, 0, 1, y}};
      // The image that the mosaic is made for stands in another quarter every time.
      const std::int64_t index = (i + (q + 4 - i % 4) % 4 * 7) % count;
      meta.tiles.push_back({index, 100, 100, q % 2 == 0 ? straight : flipped, {x, y, x + 100, y + 100}});
      if (index == i) meta.to_input = meta.tiles.back().to_input;
    }
    images.meta = {meta};
    std::vector<plugin::Tile> shown = meta.tiles;
    if (!is_mosaic) shown.push_back({i, 100, 100, {}, {0, 0, 200, 200}});
    std::vector<torch::Tensor> boxes;
    for (const plugin::Tile& tile : shown) {
      const Box& exact = crowd.annotations[crowd.annotation_begin[static_cast<std::size_t>(tile.index)] + 1].box;
      const torch::Tensor box =
          torch::tensor({exact.x1, exact.y1, exact.x2, exact.y2}, torch::kFloat64).reshape({1, 4});
      boxes.push_back(tile.to_input.apply_to_boxes(box).to(torch::kFloat32));
    }
    const auto n = static_cast<std::int64_t>(boxes.size());
    const plugin::Predictions seen{torch::cat(boxes), torch::full({n}, 0.9F), torch::ones({n, 1}),
                                   torch::zeros({n}, torch::kInt64)};
    plugin::Targets targets;
    plugin::LossContext step{&images, &seen, nullptr, &targets};
    hook->before_loss(run, step);
    EXPECT_GE(targets.size(), n) << "an object in every image that is shown";
    for (std::int64_t b = 0; b < n; ++b) {
      const torch::Tensor nearest = (targets.boxes - boxes[static_cast<std::size_t>(b)]).abs().amax(1).min();
      EXPECT_LT(nearest.item<double>(), kShift) << "where the detector sees it";
    }
  }
  hook->after_epoch(run);
  const auto learnt = nlohmann::json::parse(test::read_file(folder.path() / "annotators.json"));
  const auto& box = learnt["annotators"][0]["box"];
  return {box["deviation_sum"][0].get<double>() / box["count"].get<double>(), box["count"].get<std::int64_t>()};
}

TEST(BdcHook, AMosaicLeavesALeftwardBiasLeftwardAndAnImageTeachesOncePerEpoch) {
  const Learnt mosaics = learnt_in_mosaics(true, "reference"), alone = learnt_in_mosaics(false, "reference");
  EXPECT_NEAR(mosaics.bias, -kShift / 30, 0.02);
  EXPECT_EQ(mosaics.boxes, alone.boxes);
  EXPECT_LT(learnt_in_mosaics(true, "absence_aware").bias, -0.05);
}

TEST(BdcHook, WithoutTheWayBackToTheOriginalFrameTheBiasWouldBeLost) {
  EXPECT_GT(std::abs(learnt_bias(false, "reference") + kShift / 30), 0.1);
}

/// Warnings of two epochs in which the detector sees every annotator's box of a crowd of four who each draw one box per
/// image: all in the same place, or each in another.
std::vector<std::string> warnings_of(const char* profile, bool they_agree) {
  CrowdData crowd;
  crowd.classes.push_back({{"1", true}, "thing"});
  for (const char* name : {"a", "b", "c", "d"}) crowd.annotators.push_back({{name, false}, name});
  for (int i = 0; i < 20; ++i) {
    crowd.images.push_back({{std::to_string(i), true}, "", 100, 100});
    for (int k = 0; k < 4; ++k) {
      const double x = they_agree ? 10 : 2 + 25 * k;
      crowd.annotations.push_back({{x, 30, x + 20, 60}, i, 0, k});
    }
  }
  crowd.finalize();
  std::vector<std::string> said;
  const auto hook = make_learner_hook("bdc", {1, check_options(find_builtin_hook("bdc")->options,
                                                               Json{{"profile", profile}, {"warmup", 0}}, "options")});
  const test::TemporaryFolder folder;
  plugin::RunContext run = make_run_context(crowd);
  run.run_folder = folder.path().string();
  run.say = [&](const std::string& text) { said.push_back(text); };
  hook->before_fit(run);
  for (run.epoch = 0; run.epoch < 2; ++run.epoch) {
    for (std::size_t i = 0; i < crowd.images.size(); ++i) {
      plugin::Images images;
      images.pixels = torch::zeros({1, 3, 100, 100});
      images.meta.resize(1);
      images.meta[0].index = static_cast<std::int64_t>(i);
      std::vector<float> boxes;
      const std::size_t seen_objects = they_agree ? 1 : 4;
      for (std::size_t n = 0; n < seen_objects; ++n) {
        const Box& box = crowd.annotations[crowd.annotation_begin[i] + n].box;
        for (const double v : {box.x1, box.y1, box.x2, box.y2}) boxes.push_back(static_cast<float>(v));
      }
      const auto count = static_cast<std::int64_t>(seen_objects);
      const plugin::Predictions seen{torch::tensor(boxes).reshape({count, 4}), torch::full({count}, 0.9f),
                                     torch::ones({count, 1}), torch::zeros({count}, torch::kInt64)};
      plugin::Targets targets;
      plugin::LossContext step{&images, &seen, nullptr, &targets};
      hook->before_loss(run, step);
    }
    hook->after_epoch(run);
  }
  return said;
}

TEST(BdcHook, WarnsOnceWhenItsTargetsHaveVanishedAndSaysWhichOptionHelps) {
  const auto said = warnings_of("reference", false);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("warning: epoch 1: hook 'bdc' left 0 targets, but annotators drew about 20 boxes each"),
            std::string::npos)
      << said[0];
  EXPECT_NE(said[0].find("--hook bdc:profile=absence_aware, or a longer warmup (now 0)"), std::string::npos) << said[0];
  EXPECT_TRUE(warnings_of("reference", true).empty());
  EXPECT_TRUE(warnings_of("absence_aware", true).empty());
}

TEST(BdcHook, SaysHowFarItsClassesCanBeBelievedWhereThereIsTruth) {
  CrowdData crowd;
  for (const char* name : {"1", "2"}) crowd.classes.push_back({{name, true}, name});
  for (const char* name : {"a", "b"}) crowd.annotators.push_back({{name, false}, name});
  for (int i = 0; i < 40; ++i) {
    crowd.images.push_back({{std::to_string(i), true}, "", 100, 100});
    for (int k = 0; k < 2; ++k) crowd.annotations.push_back({{10, 30, 40, 60}, i, 0, k});
    // Everybody takes every fourth object for one of the other class.
    crowd.truth.push_back({{10, 30, 40, 60}, i, i % 4 == 0 ? 1 : 0, false, 900});
  }
  crowd.has_truth = true;
  crowd.finalize();
  const test::TemporaryFolder folder;
  const auto hook =
      make_learner_hook("mv", {1, check_options(find_builtin_hook("mv")->options, Json::object(), "options")});
  plugin::RunContext run = make_run_context(crowd);
  run.run_folder = folder.path().string();
  hook->before_fit(run);
  EXPECT_NEAR(run.metrics.at("mv/class_accuracy"), 0.75, 1e-9);
  EXPECT_NEAR(run.metrics.at("mv/class_confidence"), 1, 1e-9);
  EXPECT_NEAR(run.metrics.at("mv/class_calibration_error"), 0.25, 1e-9);
}

TEST(BdcHook, LooksAtThePredictionsOfAStepUnlessItsScheduleIsByEpoch) {
  for (const char* schedule : {"batch", "epoch"}) {
    plugin::HookInfo info = *find_builtin_hook("bdc");
    ASSERT_TRUE(info.needs_predictions);
    const auto hook =
        make_learner_hook("bdc", {1, check_options(info.options, Json{{"schedule", schedule}}, "options")});
    hook->refine(info);
    EXPECT_EQ(info.needs_predictions, std::string(schedule) == "batch");
  }
}

TEST(BuiltinHooks, EveryMethodButBdcsOwnHasOneAndTheirSchemasAreSound) {
  for (const char* name : {"bdc", "na", "mv", "wbf", "wbf-earl"}) EXPECT_NE(find_builtin_hook(name), nullptr) << name;
  EXPECT_EQ(find_builtin_hook("nothing"), nullptr);
  for (const auto& info : builtin_hooks()) {
    EXPECT_FALSE(info.description.empty());
    EXPECT_TRUE(info.replaces_targets && info.needs_annotators) << info.name;
    EXPECT_FALSE(info.needs_crowd) << info.name;
    EXPECT_NO_THROW((void)check_options(info.options, Json::object(), info.name));
  }
}

}  // namespace
}  // namespace bdc::host
