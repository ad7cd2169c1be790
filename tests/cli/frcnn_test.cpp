// The Faster R-CNN plugin, and the hook that needs its kind, as the host sees them.

#include <gtest/gtest.h>

#include "support/run_program.h"

namespace {

using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;

class FrcnnDoctor : public ::testing::TestWithParam<std::string> {};

TEST_P(FrcnnDoctor, PassesEveryCheck) {
  const TemporaryFolder folder;
  const auto outcome = run_host({"plugins", "doctor", "frcnn", "-o", "backbone=resnet18", "-o", "pyramid_channels=32",
                                 "-o", "head_channels=64", "-o", "norm=" + GetParam()},
                                folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("16 of 16 checks passed"), std::string::npos) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Norms, FrcnnDoctor, ::testing::Values("frozen", "batch", "group"),
                         [](const auto& which) { return which.param; });

TEST(CrowdRcnnHook, IsRefusedByADetectorWithoutRoiHeadsAndNamesOneThatHasThem) {
  const TemporaryFolder folder;
  const auto outcome = run_host({"train", "--plugin", "yolov7", "--hook", "crowd_rcnn", "-q"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 3) << outcome.out << outcome.err;
  EXPECT_NE(outcome.err.find("needs a detector with 'roi_heads', which plugin 'yolov7' does not have"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("--plugin "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("frcnn"), std::string::npos) << outcome.err;
}

TEST(CrowdRcnnHook, ARunThatLostItsLastEpochIsResumedToTheSameBits) {
  const TemporaryFolder folder;
  std::vector<std::string> words = {"train", "--plugin", "frcnn", "--hook", "crowd_rcnn:warmup=0", "-q"};
  for (const char* set :
       {"data.shapes.train_images=8", "data.shapes.test_images=2", "data.shapes.size=64", "train.input_size=64",
        "train.batch_size=4", "train.epochs=2", "train.threads=1", "plugin.options.width=0.25",
        "plugin.options.pyramid_channels=16", "plugin.options.head_channels=32", "output.name=run"}) {
    words.insert(words.end(), {"--set", set});
  }
  const auto whole = run_host(words, folder.path());
  ASSERT_EQ(whole.exit_code, 0) << whole.out << whole.err;
  const auto run = folder.path() / "runs/run";
  const std::string weights = read_file(run / "last.safetensors"), annotators = read_file(run / "annotators.json");
  ASSERT_FALSE(weights.empty());
  std::filesystem::resize_file(run / "last.safetensors", weights.size() / 2);
  const auto resumed = run_host({"train", "--resume", "runs/run"}, folder.path());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("resuming from the previous checkpoint"), std::string::npos) << resumed.err;
  EXPECT_TRUE(read_file(run / "last.safetensors") == weights);
  EXPECT_EQ(read_file(run / "annotators.json"), annotators);
}

}  // namespace
