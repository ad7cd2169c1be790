// What is learnt about annotators has the same bits in every rank and for any number of ranks.

#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <memory>
#include <optional>

#include "bdc/learn/learners.h"
#include "engine/hooks/learner_hook.h"
#include "engine/hooks/run_context.h"
#include "engine/shared_batch.h"
#include "host/engine/thread_ranks.h"
#include "plugins/builtin_info.h"
#include "plugins/options.h"
#include "support/random_crowd.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

constexpr int kImages = 30, kClasses = 3;

/// A batch of one image and what a detector sees in it.
struct Step {
  plugin::Images images;
  plugin::Predictions seen;
};

Step step_of(const RandomCrowd& data, std::int64_t image) {
  Step out;
  const ImageRecord& record = data.crowd.images[static_cast<std::size_t>(image)];
  out.images.pixels = torch::zeros({1, 3, 8, 8});
  out.images.meta.resize(1);
  out.images.meta[0].index = image;
  out.images.meta[0].original_width = out.images.meta[0].content_width = record.width;
  out.images.meta[0].original_height = out.images.meta[0].content_height = record.height;
  const DetectedBoxes seen = of_image(data.predictions, static_cast<std::size_t>(image));
  std::vector<float> boxes, scores, probs;
  for (const Box& box : seen.box) {
    for (const double v : {box.x1, box.y1, box.x2, box.y2}) boxes.push_back(static_cast<float>(v));
  }
  for (const double score : seen.score) scores.push_back(static_cast<float>(score));
  for (const double p : seen.class_probs) probs.push_back(static_cast<float>(p));
  const auto count = static_cast<std::int64_t>(scores.size());
  out.seen = {torch::tensor(boxes).reshape({count, 4}), torch::tensor(scores),
              torch::tensor(probs).reshape({count, static_cast<std::int64_t>(kClasses)}),
              torch::zeros({count}, torch::kInt64)};
  return out;
}

struct Learnt {
  std::vector<std::string> files;   ///< what rank 0 wrote after each epoch
  std::vector<std::string> states;  ///< of every rank at the end
  std::string half;                 ///< rank 0's state in the middle of the second epoch
};

/// Two epochs. Saves in the middle of the second; where `resume` is given, begins there with that state instead.
Learnt learn(const RandomCrowd& data, const char* profile, int size, const std::optional<std::string>& resume = {}) {
  const test::TemporaryFolder folder;
  Learnt out;
  out.states.resize(static_cast<std::size_t>(size));
  std::vector<std::vector<std::int64_t>> batches;  // of seven images
  for (int i = 0; i < kImages; ++i) {
    if (i % 7 == 0) batches.emplace_back();
    batches.back().push_back((i * 11) % kImages);
  }
  ThreadRanks(size).run([&](Communicator& ranks) {
    torch::set_num_threads(1);
    Json options{{"warmup", 0}};
    if (*profile != 0) options["profile"] = profile;
    const auto hook = make_learner_hook(
        *profile != 0 ? "bdc" : "crowd_rcnn",
        {static_cast<std::int64_t>(kClasses),
         check_options(find_builtin_hook(*profile != 0 ? "bdc" : "crowd_rcnn")->options, options, "options")},
        ranks);
    plugin::RunContext run = make_run_context(data.crowd);
    run.has_truth = false;
    run.run_folder = folder.path().string();
    run.rank = ranks.rank();
    run.size = size;
    run.resumed = resume.has_value();
    if (resume) hook->load_state(run, *resume);
    hook->before_fit(run);
    const auto shares = shares_of(batches, ranks.rank(), size);
    for (run.epoch = resume ? 1 : 0; run.epoch < 2; ++run.epoch) {
      for (std::size_t b = 0; b < shares.size(); ++b) {
        const bool is_half = run.epoch == 1 && b == 2;
        if (resume && b < 2) continue;
        if (is_half && !resume) {
          const std::string state = hook->save_state();
          if (ranks.is_first()) out.half = state;
        }
        for (const std::int64_t image : shares[b]) {
          Step step = step_of(data, image);
          plugin::Targets targets;
          plugin::LossContext context{&step.images, &step.seen, nullptr, &targets};
          hook->before_loss(run, context);
        }
      }
      hook->after_epoch(run);
      if (ranks.is_first()) out.files.push_back(test::read_file(folder.path() / "annotators.json"));
    }
    out.states[static_cast<std::size_t>(ranks.rank())] = hook->save_state();
  });
  return out;
}

class RanksHook : public testing::TestWithParam<const char*> {};

TEST_P(RanksHook, LearnsTheSameBitsForAnyNumberOfRanksOnEachOfThem) {
  const RandomCrowd data(5, kImages, 6, kClasses);
  const Learnt one = learn(data, GetParam(), 1);
  ASSERT_EQ(one.files.size(), 2U);
  EXPECT_NE(one.files[0], one.files[1]);
  for (const int size : {2, 3, 4}) {
    SCOPED_TRACE(size);
    const Learnt several = learn(data, GetParam(), size);
    EXPECT_EQ(several.files, one.files);
    for (const std::string& state : several.states) EXPECT_TRUE(state == one.states[0]);
    EXPECT_TRUE(several.half == one.half) << "the state of an epoch half done is the whole's";
  }
}

TEST_P(RanksHook, GoesOnWithAnotherNumberOfRanksInTheMiddleOfAnEpoch) {
  const RandomCrowd data(6, kImages, 6, kClasses);
  const Learnt whole = learn(data, GetParam(), 3);
  for (const int size : {1, 2, 3}) {
    const Learnt resumed = learn(data, GetParam(), size, whole.half);
    ASSERT_EQ(resumed.files.size(), 1U);
    EXPECT_EQ(resumed.files[0], whole.files[1]) << size << " ranks";
    for (const std::string& state : resumed.states) EXPECT_TRUE(state == whole.states[0]) << size << " ranks";
  }
}

// The empty name: Crowd R-CNN, a method of its own.
INSTANTIATE_TEST_SUITE_P(Learners, RanksHook, testing::Values("absence_aware", "paper", "reference", ""),
                         [](const auto& c) { return *c.param != 0 ? std::string(c.param) : "crowd_rcnn"; });

}  // namespace
}  // namespace bdc::host
