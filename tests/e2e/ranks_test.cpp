// Several processes that train one detector: what they make, how they stop, and what they say when one is gone.

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "support/rank_programs.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::by_hand;
using bdc::test::is_installed;
using bdc::test::mpirun;
using bdc::test::Outcome;
using bdc::test::ranks_in;
using bdc::test::read_file;
using bdc::test::run;
using bdc::test::run_host;
using bdc::test::RunningProgram;
using bdc::test::TemporaryFolder;
using bdc::test::torchrun;
using bdc::test::with_host;

/// A run of two epochs with six steps each.
std::vector<std::string> small_run(std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"train", "--plugin", "minimal", "--hook", "bdc", "--set", "output.name=run"};
  for (const char* set :
       {"data.shapes.train_images=22", "data.shapes.test_images=6", "data.shapes.crowd.experts=1",
        "data.shapes.crowd.average=2", "data.shapes.crowd.random=1", "train.epochs=2", "train.batch_size=4",
        "plugin.options.width=4", "train.threads=1", "train.checkpoint_every=2", "train.augment.flip_x=0.5"}) {
    words.insert(words.end(), {"--set", set});
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

fs::path run_folder(const TemporaryFolder& folder) {
  return folder.path() / "runs/run";
}

std::string final_bits(const TemporaryFolder& folder) {
  return read_file(run_folder(folder) / "last.safetensors");
}

/// Each record of the log, without what depends on the clock.
std::vector<nlohmann::json> records(const TemporaryFolder& folder) {
  std::vector<nlohmann::json> out;
  std::istringstream lines(read_file(run_folder(folder) / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

/// Waits until the run has a checkpoint.
void wait_for_checkpoint(const TemporaryFolder& folder) {
  for (int n = 0; n < 1200 && !fs::exists(run_folder(folder) / "last.safetensors"); ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_TRUE(fs::exists(run_folder(folder) / "last.safetensors"));
}

TEST(Ranks, TwoProcessesTrainOneDetectorAndTheSameBitsTwice) {
  const TemporaryFolder one, two, again;
  ASSERT_EQ(run_host(small_run({"-q"}), one.path()).exit_code, 0);
  const Outcome outcome = run_host(small_run({"--processes", "2"}), two.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("2 ranks by --processes, of which 2 on this machine; they meet at 127.0.0.1:"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.err.find("epoch 2/2"), outcome.err.rfind("epoch 2/2")) << "one of them talks\n" << outcome.err;
  EXPECT_NE(outcome.out.find("On held-out images"), std::string::npos);
  ASSERT_EQ(run_host(small_run({"-q", "--processes", "2"}), again.path()).exit_code, 0);
  EXPECT_TRUE(final_bits(two) == final_bits(again));

  const auto alone = records(one), together = records(two);
  ASSERT_EQ(alone.size(), 2U);
  ASSERT_EQ(together.size(), 2U);
  for (const char* key : {"step", "epoch", "train/learning_rate"})
    EXPECT_EQ(alone[1].at(key), together[1].at(key)) << key;
  // Not the same: batch norm sees half the batch. But close.
  const double a = alone[0].at("train/loss"), b = together[0].at("train/loss");
  EXPECT_NEAR(a, b, 0.3 * a);
  EXPECT_EQ(alone[0].at("bdc/targets").is_number(), together[0].at("bdc/targets").is_number());
}

TEST(Ranks, AResumedRunOfAsManyRanksEndsWithTheBitsOfAnUnbrokenOne) {
  const TemporaryFolder whole, broken;
  const auto words = [](std::vector<std::string> more) {
    auto out = small_run(std::move(more));
    for (std::string& word : out) {
      if (word == "train.epochs=2") word = "train.epochs=6";
    }
    return out;
  };
  ASSERT_EQ(run_host(words({"-q", "--processes", "2"}), whole.path()).exit_code, 0);
  RunningProgram program(with_host(words({"--processes", "2"})), broken.path());
  wait_for_checkpoint(broken);
  program.send(SIGTERM);
  const Outcome stopped = program.wait();
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  const Outcome resumed = run_host({"train", "--resume", "runs/run", "--processes", "2"}, broken.path());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.err.find("numbers will differ"), std::string::npos) << resumed.err;
  EXPECT_TRUE(final_bits(whole) == final_bits(broken));
  EXPECT_EQ(read_file(run_folder(whole) / "annotators.json"), read_file(run_folder(broken) / "annotators.json"));
}

TEST(Ranks, ARunGoesOnWithAnotherNumberOfRanksAndSaysThatBitsDiffer) {
  const TemporaryFolder folder;
  RunningProgram program(with_host(small_run({"--processes", "2", "-q"})), folder.path());
  wait_for_checkpoint(folder);
  program.send(SIGINT);
  ASSERT_EQ(program.wait().exit_code, 130);
  const Outcome alone = run_host({"train", "--resume", "runs/run"}, folder.path());
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_NE(alone.err.find("saved by 2 processes and goes on with 1"), std::string::npos) << alone.err;
}

TEST(Ranks, AKilledRankIsNamedByTheOthersAndTheCheckpointStaysWhole) {
  const TemporaryFolder folder;
  auto words = small_run({"--processes", "3", "--set", "train.timeout=20"});
  for (std::string& word : words) {
    if (word == "train.epochs=2") word = "train.epochs=500";
  }
  RunningProgram program(with_host(words), folder.path());
  wait_for_checkpoint(folder);
  const auto ranks = ranks_in(folder);
  ASSERT_EQ(ranks.size(), 3U);
  std::this_thread::sleep_for(std::chrono::seconds(2));  // ranks show where they stand four times a second
  ::kill(ranks[1], SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  const Outcome outcome = program.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(20)) << outcome.err;
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  EXPECT_NE(outcome.err.find("rank 1 was ended by signal 9"), std::string::npos) << outcome.err;
  for (const char* rank : {"0", "2"}) {
    EXPECT_NE(outcome.err.find("; this is rank " + std::string(rank) + " of 3 at epoch "), std::string::npos)
        << outcome.err;
  }
  EXPECT_NE(outcome.err.find("rank 1 is gone (last seen: rank 1 at epoch "), std::string::npos) << outcome.err;
  // The checkpoint can be read: the run would go on from it.
  RunningProgram resumed(with_host({"train", "--resume", "runs/run", "--processes", "3"}), folder.path());
  for (int n = 0; n < 600 && resumed.err_so_far().find("resuming runs/run") == std::string::npos; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  resumed.send(SIGTERM);
  const Outcome stopped = resumed.wait();
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
}

TEST(Ranks, AStoppedRankIsReportedAfterTheTimeout) {
  const TemporaryFolder folder;
  auto words = small_run({"--processes", "2", "--set", "train.timeout=3"});
  for (std::string& word : words) {
    if (word == "train.epochs=2") word = "train.epochs=500";
  }
  RunningProgram program(with_host(words), folder.path());
  wait_for_checkpoint(folder);
  const auto ranks = ranks_in(folder);
  ASSERT_EQ(ranks.size(), 2U);
  ::kill(ranks[1], SIGSTOP);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.exit_code, 10) << outcome.err;
  EXPECT_NE(outcome.err.find("rank 1 is gone"), std::string::npos) << outcome.err;
  EXPECT_TRUE(ranks_in(folder).empty()) << "the stopped one is ended as well";
}

TEST(Ranks, AnErrorThatAllHaveIsSaidOnceAndOneThatOneHasNamesIt) {
  const TemporaryFolder folder;
  const Outcome all = run_host(small_run({"--processes", "2", "--set", "train.weights=nowhere.pt"}), folder.path());
  EXPECT_EQ(all.exit_code, 4) << all.err;
  EXPECT_NE(all.err.find("nowhere.pt"), std::string::npos) << all.err;
  EXPECT_EQ(all.err.find("nowhere.pt"), all.err.rfind("nowhere.pt")) << all.err;
  EXPECT_FALSE(fs::exists(folder.path() / "runs"));
}

TEST(Ranks, DifferentConfigsAreRefusedOnEveryRankWithTheLineThatDiffers) {
  const TemporaryFolder folder;
  for (const Outcome& outcome : by_hand(folder, {small_run(), small_run({"--set", "train.seed=4"})})) {
    EXPECT_EQ(outcome.exit_code, 10) << outcome.err;
    EXPECT_NE(outcome.err.find("rank 1 has another config than rank 0"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("rank 1: \"seed\": 4"), std::string::npos) << outcome.err;
  }
  EXPECT_FALSE(fs::exists(folder.path() / "runs"));
}

TEST(Ranks, HalfSetVariablesAreAUsageError) {
  const TemporaryFolder folder;
  const Outcome outcome = run_host(small_run(), folder.path(), {"RANK=0", "WORLD_SIZE=2"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("RANK, WORLD_SIZE are set, but LOCAL_RANK, MASTER_ADDR, MASTER_PORT are not"),
            std::string::npos)
      << outcome.err;
  const Outcome both = run_host(small_run({"--processes", "2"}), folder.path(),
                                {"RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", "MASTER_ADDR=x", "MASTER_PORT=1"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_NE(both.err.find("--processes starts the ranks itself, but torchrun has started this one"), std::string::npos);
}

TEST(Ranks, ARankThatNeverComesEndsTheOthersAfterTheTimeout) {
  const TemporaryFolder folder;
  const auto words = small_run({"--set", "train.timeout=2"});
  const Outcome outcome = run_host(words, folder.path(),
                                   {"RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0", "MASTER_ADDR=127.0.0.1",
                                    "MASTER_PORT=" + std::to_string(28000 + ::getpid() % 4000)});
  EXPECT_EQ(outcome.exit_code, 10);
  EXPECT_NE(outcome.err.find("rank 1 has not come to 127.0.0.1:"), std::string::npos) << outcome.err;
}

TEST(Ranks, UnderMpirunTheBitsAreThoseOfProcesses) {
  ASSERT_TRUE(is_installed("mpirun")) << "openmpi-bin of tests/packages.txt";
  const TemporaryFolder ours, theirs;
  ASSERT_EQ(run_host(small_run({"-q", "--processes", "2"}), ours.path()).exit_code, 0);
  const Outcome outcome = run(mpirun(2, with_host(small_run())), theirs.path(), {"OPENBLAS_NUM_THREADS=1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE((outcome.out + outcome.err).find("2 ranks by mpirun"), std::string::npos) << outcome.err;
  EXPECT_TRUE(final_bits(ours) == final_bits(theirs));
}

TEST(Ranks, UnderTorchrunTheBitsAreThoseOfProcesses) {
  ASSERT_TRUE(is_installed("/usr/bin/python3")) << "python3-torch of tests/packages.txt";
  const TemporaryFolder ours, theirs;
  ASSERT_EQ(run_host(small_run({"-q", "--processes", "2"}), ours.path()).exit_code, 0);
  const Outcome outcome = run(torchrun(2, with_host(small_run())), theirs.path(), {"OPENBLAS_NUM_THREADS=1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("2 ranks by torchrun"), std::string::npos) << outcome.err;
  EXPECT_TRUE(final_bits(ours) == final_bits(theirs));
}

/// The number of torchrun's attempts so far that have ranks: waits for attempt `n` to have its two. False when the
/// launcher ends instead.
bool wait_for_attempt(const TemporaryFolder& folder, int n, std::vector<pid_t>& ranks) {
  for (int tries = 0; tries < 1200; ++tries) {
    ranks = ranks_in(folder, "RANK", "TORCHELASTIC_RESTART_COUNT", std::to_string(n));
    if (ranks.size() == 2) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return false;
}

TEST(Ranks, KilledAtTenMomentsUnderTorchrunARunComesBackAndEndsWithTheBitsOfAnUnbrokenOne) {
  constexpr int kKills = 10;
  const unsigned seed = std::random_device{}();
  std::cout << "seed of the moments: " << seed << std::endl;
  std::mt19937 random(seed);
  auto words = small_run({"--set", "train.timeout=20"});
  for (std::string& word : words) {
    if (word == "train.epochs=2") word = "train.epochs=60";
  }
  const TemporaryFolder whole, broken;
  ASSERT_EQ(run(torchrun(2, with_host(words)), whole.path(), {"OPENBLAS_NUM_THREADS=1"}).exit_code, 0);
  RunningProgram program(
      torchrun(2, with_host(words), {"--max_restarts", std::to_string(kKills), "--monitor_interval", "0.1"}),
      broken.path(), {"OPENBLAS_NUM_THREADS=1"});
  for (int kill = 0; kill < kKills; ++kill) {
    std::vector<pid_t> ranks;
    ASSERT_TRUE(wait_for_attempt(broken, kill, ranks)) << "attempt " << kill << "\n" << program.err_so_far();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 2500)(random)));
    const pid_t victim = ranks[std::uniform_int_distribution<std::size_t>(0, 1)(random)];
    ASSERT_EQ(::kill(victim, SIGKILL), 0) << "the run is too short for " << kKills << " kills\n"
                                          << program.err_so_far();
  }
  const Outcome outcome = program.wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("restart 10 by torchrun: goes on with "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("resuming "), std::string::npos) << outcome.err;
  EXPECT_TRUE(final_bits(whole) == final_bits(broken));
  EXPECT_EQ(read_file(run_folder(whole) / "annotators.json"), read_file(run_folder(broken) / "annotators.json"));
  EXPECT_EQ(records(broken).size(), 60U);
}

}  // namespace
