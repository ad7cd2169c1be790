// A run that is killed at any moment, or whose checkpoint is damaged, ends with the same bits as an unbroken one.

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::RunningProgram;
using bdc::test::TemporaryFolder;
using bdc::test::tensor_bytes;

std::vector<std::string> bdc_run(std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"train", "--plugin", "minimal", "--hook", "bdc", "--set", "output.name=run"};
  for (const char* set :
       {"data.shapes.train_images=32", "data.shapes.test_images=8", "data.shapes.crowd.experts=1",
        "data.shapes.crowd.average=2", "data.shapes.crowd.random=1", "train.epochs=4", "train.batch_size=4",
        "plugin.options.width=4", "train.threads=1", "train.checkpoint_every=3", "train.augment.flip_x=0.5"}) {
    words.insert(words.end(), {"--set", set});
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string final_bits(const TemporaryFolder& folder) {
  return read_file(folder.path() / "runs/run/last.safetensors");
}

/// Goes on with a run until it is done; says what the last call printed.
std::string finish(const TemporaryFolder& folder) {
  const auto outcome = run_host({"train", "--resume", "runs/run"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.err;
}

TEST(KillAndResume, TwentyKillsAtRandomMomentsLeaveTheSameWeights) {
  const TemporaryFolder whole;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(run_host(bdc_run({"-q"}), whole.path()).exit_code, 0);
  const auto duration = std::chrono::steady_clock::now() - begin;
  const std::string expected = final_bits(whole);
  ASSERT_FALSE(expected.empty());

  std::mt19937 random(7);
  int kills = 0;
  while (kills < 20) {
    const TemporaryFolder folder;
    while (true) {
      const bool started = fs::exists(folder.path() / "runs/run/config.json");
      if (!started) fs::remove_all(folder.path() / "runs");  // killed before it had begun
      RunningProgram program(started ? std::vector<std::string>{BDC_HOST, "train", "--resume", "runs/run", "-q"}
                                     : [] {
                                         auto words = bdc_run({"-q"});
                                         words.insert(words.begin(), BDC_HOST);
                                         return words;
                                       }(),
                             folder.path());
      const double share = std::uniform_real_distribution<double>(0.2, 1.1)(random);
      std::this_thread::sleep_for(std::chrono::duration_cast<std::chrono::microseconds>(duration * share));
      program.send(SIGKILL);
      const auto outcome = program.wait();
      if (outcome.signal == 0) {
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        break;
      }
      ++kills;
    }
    EXPECT_TRUE(final_bits(folder) == expected) << "after " << kills << " kills";
  }
}

class DamagedCheckpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_host(bdc_run({"-q"}), whole_.path()).exit_code, 0);
    // The checkpoints of the last two saves of a run that was stopped on the way: as after a crash.
    fs::copy(whole_.path(), folder_.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    last_ = folder_.path() / "runs/run/last.safetensors";
  }
  void expect_recovery() {
    const std::string said = finish(folder_);
    EXPECT_NE(said.find("resuming from the previous checkpoint"), std::string::npos) << said;
    EXPECT_TRUE(final_bits(folder_) == final_bits(whole_));
  }
  TemporaryFolder whole_, folder_;
  fs::path last_;
};

TEST_F(DamagedCheckpoint, ATruncatedOneFallsBackToThePrevious) {
  fs::resize_file(last_, fs::file_size(last_) / 2);
  expect_recovery();
}

TEST_F(DamagedCheckpoint, AFlippedBitIsNoticed) {
  for (const double place : {0.3, 0.6, 0.95}) {
    std::string bytes = read_file(whole_.path() / "runs/run/last.safetensors");
    bytes[static_cast<std::size_t>(place * static_cast<double>(bytes.size()))] ^= 4;
    fs::copy(whole_.path() / "runs/run/previous.safetensors", folder_.path() / "runs/run/previous.safetensors",
             fs::copy_options::overwrite_existing);
    std::ofstream(last_, std::ios::binary) << bytes;
    expect_recovery();
  }
}

TEST_F(DamagedCheckpoint, BothDamagedIsAnErrorThatNamesBoth) {
  for (const char* name : {"last.safetensors", "previous.safetensors"}) {
    fs::resize_file(folder_.path() / "runs/run" / name, 100);
  }
  const auto outcome = run_host({"train", "--resume", "runs/run"}, folder_.path());
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("last.safetensors"), std::string::npos);
  EXPECT_NE(outcome.err.find("previous.safetensors"), std::string::npos);
}

TEST(Workers, TheNumberOfLoaderThreadsDoesNotChangeABit) {
  const TemporaryFolder none, four, again;
  ASSERT_EQ(run_host(bdc_run({"-q", "--set", "data.workers=1"}), none.path()).exit_code, 0);
  ASSERT_EQ(run_host(bdc_run({"-q", "--set", "data.workers=1"}), again.path()).exit_code, 0);
  ASSERT_EQ(run_host(bdc_run({"-q", "--set", "data.workers=4"}), four.path()).exit_code, 0);
  EXPECT_TRUE(final_bits(none) == final_bits(again)) << "the same run twice";
  const auto learnt = [](const TemporaryFolder& folder) {
    return read_file(folder.path() / "runs/run/annotators.json");
  };
  EXPECT_EQ(learnt(none), learnt(four));
  // The config inside differs in data.workers, so compare what follows the header.
  EXPECT_TRUE(tensor_bytes(none.path() / "runs/run/last.safetensors") ==
              tensor_bytes(four.path() / "runs/run/last.safetensors"));
}

}  // namespace
