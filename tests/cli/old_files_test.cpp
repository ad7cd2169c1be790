// Files that version 0.1 wrote still open.

#include <gtest/gtest.h>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;

/// Runs of version 0.1 on the built-in shapes, with minimal. `run`: with bdc, stopped after the first of four steps of
/// its third and last epoch. `run_mv`: with mv, stopped after the sixth of sixty epochs.
class RunOfVersion01 : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(BDC_TEST_DATA "/host/data/v0_1", folder_.path() / "runs", fs::copy_options::recursive);
  }
  TemporaryFolder folder_;
};

TEST_F(RunOfVersion01, IsResumedWhereNoHookHasLearnt) {
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

TEST_F(RunOfVersion01, IsRefusedWithASentenceWhereBeliefsHaveAnotherForm) {
  const std::string before = read_file(folder_.path() / "runs/run/last.safetensors");
  const auto outcome = run_host({"train", "--resume", "runs/run"}, folder_.path());
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_NE(outcome.err.find("hook 'bdc'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("was saved by another version of bdc"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_file(folder_.path() / "runs/run/last.safetensors"), before);
}

TEST_F(RunOfVersion01, IsValidated) {
  const auto outcome = run_host({"val", "runs/run"}, folder_.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace
