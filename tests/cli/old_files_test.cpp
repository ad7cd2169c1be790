// Runs of earlier versions go on, or are refused with a sentence.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;

/// Runs of a version on the built-in shapes, with minimal: `run` with bdc, interrupted; `run_mv` with mv, stopped after
/// the sixth of sixty epochs.
class OldRun : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    fs::copy(std::string(BDC_TEST_DATA "/host/data/") + GetParam(), folder_.path() / "runs",
             fs::copy_options::recursive);
  }
  TemporaryFolder folder_;
};

TEST_P(OldRun, IsResumedWhereNoHookHasLearnt) {
  const std::string before = read_file(folder_.path() / "runs/run_mv/metrics.jsonl");
  const auto outcome = run_host({"train", "--resume", "runs/run_mv"}, folder_.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("with a simulated crowd of 10"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("resuming runs/run_mv"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("epoch 6/60"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("epoch 60/60  loss "), std::string::npos) << outcome.err;
  const std::string metrics = read_file(folder_.path() / "runs/run_mv/metrics.jsonl");
  EXPECT_EQ(metrics.compare(0, before.size(), before), 0);
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 60);
}

TEST_P(OldRun, IsRefusedWithASentenceWhereBeliefsHaveAnotherForm) {
  const std::string before = read_file(folder_.path() / "runs/run/last.safetensors");
  const auto outcome = run_host({"train", "--resume", "runs/run"}, folder_.path());
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_NE(outcome.err.find("hook 'bdc'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("was saved by another version of bdc"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_file(folder_.path() / "runs/run/last.safetensors"), before);
}

TEST_P(OldRun, IsValidated) {
  const auto outcome = run_host({"val", "runs/run"}, folder_.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Versions, OldRun, ::testing::Values("v0_1", "v0_4"),
                         [](const auto& version) { return std::string(version.param); });

TEST(RunOfVersion04, IsResumedWithALearnerWhoseBeliefsHaveTheSameForm) {
  const TemporaryFolder folder;
  fs::copy(BDC_TEST_DATA "/host/data/v0_4", folder.path() / "runs", fs::copy_options::recursive);
  const auto outcome = run_host({"train", "--resume", "runs/run_paper"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("epoch 30/30  loss "), std::string::npos) << outcome.err;
}

}  // namespace
