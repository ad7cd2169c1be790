// Several processes that train one detector: what they make, how they stop, and what they say when one is gone.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
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

/// Two ranks with the same words, each in a folder of its own, as on two machines.
std::vector<Outcome> on_two_machines(const TemporaryFolder& first, const TemporaryFolder& second,
                                     const std::vector<std::string>& words) {
  static int port = 28500 + static_cast<int>(::getpid() % 500);
  ++port;
  std::vector<std::unique_ptr<RunningProgram>> programs;
  for (int r : {0, 1}) {
    programs.push_back(std::make_unique<RunningProgram>(
        with_host(words), (r == 0 ? first : second).path(),
        std::vector<std::string>{"RANK=" + std::to_string(r), "WORLD_SIZE=2", "LOCAL_RANK=" + std::to_string(r),
                                 "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                                 "MASTER_PORT=" + std::to_string(port)}));
  }
  std::vector<Outcome> out;
  for (auto& program : programs) out.push_back(program->wait());
  return out;
}

TEST(Ranks, DifferentLabelsAndPluginsAreRefusedOnEveryRank) {
  const TemporaryFolder one, two;
  for (const TemporaryFolder* folder : {&one, &two}) {
    const Outcome made = run_host({"synth", "--shapes", "8", "--preset", "noisy", "--seed", folder == &one ? "1" : "2",
                                   "-o", "crowd.json", "--write-truth", "truth.json", "--write-images", "photos"},
                                  folder->path());
    ASSERT_EQ(made.exit_code, 0) << made.err;
    fs::create_directory(folder->path() / "plugins");
    fs::copy_file(BDC_FIXTURES "/l1_boxes.so", folder->path() / "plugins/l1_boxes.so");
  }
  std::ofstream(two.path() / "plugins/l1_boxes.so", std::ios::app) << "another build";
  // The same words, and so the same config, mean files of each rank's own folder.
  const auto words = [](const std::string& labels, const std::string& plugin) {
    return std::vector<std::string>{"train",
                                    "--plugin",
                                    plugin,
                                    "--plugin-path",
                                    "/proc/self/cwd/plugins",
                                    "--data",
                                    labels,
                                    "--set",
                                    "data.images=/proc/self/cwd/photos",
                                    "--set",
                                    "train.epochs=1",
                                    "--set",
                                    "train.timeout=20"};
  };
  for (const Outcome& outcome : on_two_machines(one, two, words("/proc/self/cwd/crowd.json", "minimal"))) {
    EXPECT_EQ(outcome.exit_code, 10) << outcome.err;
    EXPECT_NE(outcome.err.find("rank 1 has another set of labels than rank 0"), std::string::npos) << outcome.err;
  }
  fs::copy_file(one.path() / "crowd.json", two.path() / "crowd.json", fs::copy_options::overwrite_existing);
  for (const Outcome& outcome : on_two_machines(one, two, words("/proc/self/cwd/crowd.json", "l1_boxes"))) {
    EXPECT_EQ(outcome.exit_code, 10) << outcome.err;
    EXPECT_NE(outcome.err.find("rank 1 has another plugin than rank 0"), std::string::npos) << outcome.err;
  }
  for (const TemporaryFolder* folder : {&one, &two}) EXPECT_FALSE(fs::exists(folder->path() / "runs"));
}

TEST(Ranks, APortThatIsTakenAndTwoRanksOfOneNumberAreSaidByEveryRank) {
  const TemporaryFolder folder;
  const auto begun = std::chrono::steady_clock::now();
  const auto words = small_run({"--set", "train.timeout=3"});
  const auto same = by_hand(folder, {words, words}, {{}, {"RANK=0", "LOCAL_RANK=0"}});
  // Both say that they are rank 0, so one finds the port taken by the other.
  EXPECT_EQ(same[0].exit_code, 10) << same[0].err;
  EXPECT_EQ(same[1].exit_code, 10) << same[1].err;
  const std::string all = same[0].err + same[1].err;
  EXPECT_NE(all.find("rank 0 cannot open 127.0.0.1:"), std::string::npos) << all;
  EXPECT_NE(all.find("another program, or another rank 0, has the port; choose another (MASTER_PORT)"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("rank 1 has not come to 127.0.0.1:"), std::string::npos) << all;
  for (const Outcome& outcome : by_hand(folder, {words, words, words}, {{}, {}, {"RANK=1"}})) {
    EXPECT_EQ(outcome.exit_code, 10) << outcome.err;
    EXPECT_NE(outcome.err.find("two processes say that they are rank 1 of 3"), std::string::npos) << outcome.err;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
  EXPECT_FALSE(fs::exists(folder.path() / "runs"));
}

TEST(Ranks, SynchronisedBatchNormTrainsTheDetectorOfOneProcess) {
  const auto words = [](std::vector<std::string> more) {
    auto out = small_run({"-q", "--set", "train.sync_batchnorm=true", "--set", "train.augment.flip_x=0"});
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  const TemporaryFolder one, two, three;
  ASSERT_EQ(run_host(words({}), one.path()).exit_code, 0);
  ASSERT_EQ(run_host(words({"--processes", "2"}), two.path()).exit_code, 0);
  // The last batch of an epoch has two images: one rank sits it out.
  const Outcome outcome = run_host(words({"--processes", "3"}), three.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const double loss = records(one)[0].at("train/loss");
  for (const TemporaryFolder* folder : {&two, &three}) {
    EXPECT_NEAR(records(*folder)[0].at("train/loss").get<double>(), loss, 1e-4 * loss);
    EXPECT_GT(records(*folder)[0].at("seconds/sums_under_way").get<double>(), 0);
    EXPECT_GE(records(*folder)[0].at("seconds/sums_waited").get<double>(), 0);
  }
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

TEST(Ranks, ASignalToTheLauncherSavesOnceAndTheRunGoesOn) {
  const TemporaryFolder whole, broken;
  auto words = small_run();
  for (std::string& word : words) {
    if (word == "train.epochs=2") word = "train.epochs=12";
  }
  auto alone = words;
  alone.insert(alone.end(), {"-q", "--processes", "2"});
  ASSERT_EQ(run_host(alone, whole.path()).exit_code, 0);
  RunningProgram elastic(torchrun(2, with_host(words)), broken.path(), {"OPENBLAS_NUM_THREADS=1"});
  wait_for_checkpoint(broken);
  elastic.send(SIGTERM);
  const Outcome first = elastic.wait();
  EXPECT_NE((first.out + first.err).find("interrupted, checkpoint saved"), std::string::npos) << first.out << first.err;

  const auto begun = fs::last_write_time(run_folder(broken) / "last.safetensors");
  RunningProgram mpi(mpirun(2, with_host({"train", "--resume", "runs/run"})), broken.path(),
                     {"OPENBLAS_NUM_THREADS=1"});
  for (int n = 0; n < 1200 && fs::last_write_time(run_folder(broken) / "last.safetensors") == begun; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  mpi.send(SIGTERM);
  const Outcome second = mpi.wait();
  EXPECT_NE(second.exit_code, 0) << "mpirun's own; that of the ranks is 130";
  EXPECT_NE((second.out + second.err).find("interrupted, checkpoint saved"), std::string::npos) << second.out;
  ASSERT_EQ(run_host({"train", "--resume", "runs/run", "--processes", "2", "-q"}, broken.path()).exit_code, 0);
  EXPECT_TRUE(final_bits(whole) == final_bits(broken));
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

/// How often the run below is killed: BDC_TEST_KILLS, 3 without it (`BDC_TEST_KILLS=10 ctest -R Killed` takes minutes).
int number_of_kills() {
  const char* given = std::getenv("BDC_TEST_KILLS");
  return given != nullptr ? std::max(1, std::atoi(given)) : 3;
}

TEST(Ranks, KilledAtRandomMomentsUnderTorchrunARunComesBackAndEndsWithTheBitsOfAnUnbrokenOne) {
  const int kills = number_of_kills();
  const std::string epochs = std::to_string(20 + 4 * kills);
  const unsigned seed = std::random_device{}();
  std::cout << "seed of the moments: " << seed << std::endl;
  std::mt19937 random(seed);
  auto words = small_run({"--set", "train.timeout=20"});
  for (std::string& word : words) {
    if (word == "train.epochs=2") word = "train.epochs=" + epochs;
  }
  const TemporaryFolder whole, broken;
  ASSERT_EQ(run(torchrun(2, with_host(words)), whole.path(), {"OPENBLAS_NUM_THREADS=1"}).exit_code, 0);
  RunningProgram program(
      torchrun(2, with_host(words), {"--max_restarts", std::to_string(kills), "--monitor_interval", "0.1"}),
      broken.path(), {"OPENBLAS_NUM_THREADS=1"});
  for (int kill = 0; kill < kills; ++kill) {
    std::vector<pid_t> ranks;
    ASSERT_TRUE(wait_for_attempt(broken, kill, ranks)) << "attempt " << kill << "\n" << program.err_so_far();
    // Some moments come before there is anything to go on from, the last one does not, however busy the machine is.
    if (kill + 1 == kills) wait_for_checkpoint(broken);
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 2500)(random)));
    const pid_t victim = ranks[std::uniform_int_distribution<std::size_t>(0, 1)(random)];
    ASSERT_EQ(::kill(victim, SIGKILL), 0) << "the run is too short for " << kills << " kills\n" << program.err_so_far();
  }
  const Outcome outcome = program.wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("restart " + std::to_string(kills) + " by torchrun"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("resuming "), std::string::npos) << outcome.err;
  EXPECT_TRUE(final_bits(whole) == final_bits(broken));
  EXPECT_EQ(read_file(run_folder(whole) / "annotators.json"), read_file(run_folder(broken) / "annotators.json"));
  EXPECT_EQ(std::to_string(records(broken).size()), epochs);
}

}  // namespace
