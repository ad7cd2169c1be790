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

/// One object per image of 100 x 100 at x 10..50; annotators 0 and 1 say class 1, annotator 2 says the truth, class 0.
CrowdData crowd_of(int images) {
  CrowdData crowd;
  for (const char* name : {"cat", "dog"}) crowd.classes.push_back({{name, false}, name});
  for (const char* name : {"a", "b", "c"}) crowd.annotators.push_back({{name, false}, name});
  for (int i = 0; i < images; ++i) {
    ImageRecord image;
    image.id = {std::to_string(i), true};
    image.width = image.height = 100;
    crowd.images.push_back(image);
    for (int k = 0; k < 3; ++k) crowd.annotations.push_back({{10, 20, 50, 40}, i, k == 2 ? 0 : 1, k});
  }
  crowd.finalize();
  return crowd;
}

struct HookRun {
  explicit HookRun(const CrowdData& labels) : context(make_run_context(labels)) {
    const plugin::HookInfo& info = *find_builtin_hook("crowd_rcnn");
    hook = make_learner_hook("crowd_rcnn", {2, check_options(info.options, Json{{"warmup", 0}}, "options")});
    context.run_folder = folder.path().string();
  }
  /// The image comes flipped; the detector sees the object where it is then, and is sure of class 0.
  plugin::Targets step(std::int64_t image) {
    plugin::Images images;
    images.pixels = torch::zeros({1, 3, 100, 100});
    plugin::ImageMeta meta;
    meta.index = image;
    meta.original_width = meta.original_height = meta.content_width = meta.content_height = 100;
    meta.to_input.m = {-1, 0, 100, 0, 1, 0};
    images.meta = {meta};
    plugin::Predictions seen;
    seen.boxes = torch::tensor({{50.0F, 20.0F, 90.0F, 40.0F}});
    seen.scores = torch::tensor({0.9F});
    seen.class_probs = torch::tensor({{0.999F, 0.001F}});
    seen.image_index = torch::zeros({1}, torch::kInt64);
    plugin::Targets targets;
    plugin::LossContext at{&images, &seen, nullptr, &targets};
    hook->before_loss(context, at);
    return targets;
  }
  test::TemporaryFolder folder;
  std::unique_ptr<plugin::TrainingHook> hook;
  plugin::RunContext context;
};

TEST(CrowdRcnnHook, TargetsAreSoftClassesInTheFrameOfTheBatchWithWeightOne) {
  const CrowdData crowd = crowd_of(10);
  HookRun run(crowd);
  run.hook->before_fit(run.context);
  const plugin::Targets t = run.step(3);
  t.validate(1, 2);
  ASSERT_EQ(t.size(), 1);
  EXPECT_NEAR(t.boxes[0][0].item<double>(), 50, 1e-4);
  EXPECT_NEAR(t.boxes[0][2].item<double>(), 90, 1e-4);
  EXPECT_EQ(t.weights[0].item<double>(), 1);
  EXPECT_GT(t.class_probs[0][0].item<double>(), 0.5) << "the detector was found at the place of the group";
}

TEST(CrowdRcnnHook, AResumedHookGoesOnWithTheSameBitsAndTheFolderHasTheAnnotators) {
  const CrowdData crowd = crowd_of(10);
  HookRun whole(crowd), resumed(crowd);
  whole.hook->before_fit(whole.context);
  for (std::int64_t i = 0; i < 6; ++i) (void)whole.step(i);
  resumed.context.resumed = true;
  resumed.hook->load_state(resumed.context, whole.hook->save_state());
  resumed.hook->before_fit(resumed.context);
  for (HookRun* run : {&whole, &resumed}) {
    for (std::int64_t i = 6; i < 10; ++i) (void)run->step(i);
    run->hook->after_epoch(run->context);
  }
  EXPECT_EQ(whole.hook->save_state(), resumed.hook->save_state());
  EXPECT_TRUE(torch::equal(whole.step(0).class_probs, resumed.step(0).class_probs));
  const auto file = nlohmann::json::parse(test::read_file(resumed.folder.path() / "annotators.json"));
  EXPECT_EQ(file.at("annotators").size(), 3U);
}

TEST(CrowdRcnnHook, NeedsRoiHeadsAndPredictions) {
  const plugin::HookInfo& info = *find_builtin_hook("crowd_rcnn");
  EXPECT_EQ(info.needs_capabilities, std::vector<std::string>{"roi_heads"});
  EXPECT_TRUE(info.needs_predictions);
}

}  // namespace
}  // namespace bdc::host
