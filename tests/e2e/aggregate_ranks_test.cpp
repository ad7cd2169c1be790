// Several processes that aggregate one crowd: what they write, and what they say when they cannot.

#include <gtest/gtest.h>

#include <chrono>
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

/// What a simulated crowd drew on built-in images.
void make_crowd(const TemporaryFolder& folder, int images, const std::string& name = "crowd.json",
                const std::string& seed = "1") {
  const Outcome made = run_host({"synth", "--shapes", std::to_string(images), "--preset", "noisy", "--seed", seed, "-o",
                                 name, "--write-truth", name + ".truth"},
                                folder.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
}

std::vector<std::string> aggregate(const std::string& name, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"aggregate", "crowd.json",   "-q",           "--threads",         "1",
                                    "-o",        name + ".json", "--annotators", name + ".annotators"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void expect_same_files(const TemporaryFolder& folder, const std::string& a, const std::string& b) {
  for (const char* kind : {".json", ".annotators"}) {
    const std::string one = read_file(folder.path() / (a + kind));
    EXPECT_FALSE(one.empty()) << a << kind;
    EXPECT_TRUE(one == read_file(folder.path() / (b + kind))) << a << kind << " and " << b << kind << " differ";
  }
}

TEST(AggregateRanks, WriteTheSameBitsForOneToFourOfThem) {
  const TemporaryFolder folder;
  make_crowd(folder, 5000);
  ASSERT_EQ(run_host(aggregate("alone"), folder.path()).exit_code, 0);
  for (const char* ranks : {"2", "3", "4"}) {
    const Outcome outcome = run_host(aggregate(ranks, {"--processes", ranks}), folder.path());
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    expect_same_files(folder, "alone", ranks);
  }
}

TEST(AggregateRanks, EveryMethodAndItsPredictions) {
  const TemporaryFolder folder;
  make_crowd(folder, 150);
  const std::vector<std::vector<std::string>> methods = {
      {"-m", "mv"}, {"-m", "crowd_rcnn"}, {"--option", "profile=paper"}, {"-m", "em-wbf"}};
  for (auto words : methods) {
    const auto with = [&](const std::string& name, std::vector<std::string> more) {
      std::vector<std::string> all = {"aggregate", "crowd.json", "-q", "-o", name};
      all.insert(all.end(), words.begin(), words.end());
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    ASSERT_EQ(run_host(with("one.json", {"--force"}), folder.path()).exit_code, 0);
    const Outcome outcome = run_host(with("two.json", {"--processes", "2", "--force"}), folder.path());
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(read_file(folder.path() / "one.json") == read_file(folder.path() / "two.json")) << words.back();
  }
  // A consensus is a set of predictions as good as any.
  ASSERT_EQ(run_host(aggregate("alone", {"--predictions", "one.json"}), folder.path()).exit_code, 0);
  ASSERT_EQ(run_host(aggregate("two", {"--predictions", "one.json", "--processes", "2"}), folder.path()).exit_code, 0);
  expect_same_files(folder, "alone", "two");
}

TEST(AggregateRanks, UnderTorchrunAndMpirunRankZeroTalksForAll) {
  ASSERT_TRUE(is_installed("mpirun")) << "openmpi-bin of tests/packages.txt";
  const TemporaryFolder folder;
  make_crowd(folder, 200);
  ASSERT_EQ(run_host(aggregate("alone"), folder.path()).exit_code, 0);
  auto words = with_host({"aggregate", "crowd.json", "-o", "torchrun.json", "--annotators", "torchrun.annotators"});
  const Outcome elastic = run(torchrun(2, words), folder.path());
  ASSERT_EQ(elastic.exit_code, 0) << elastic.err;
  EXPECT_NE((elastic.out + elastic.err).find("2 ranks by torchrun"), std::string::npos) << elastic.err;
  EXPECT_EQ(elastic.out.find("200 images"), elastic.out.rfind("200 images")) << elastic.out;
  EXPECT_NE(elastic.out.find("200 images"), std::string::npos) << elastic.out;
  expect_same_files(folder, "alone", "torchrun");

  words = with_host(aggregate("mpirun"));
  const Outcome mpi = run(mpirun(3, words), folder.path());
  ASSERT_EQ(mpi.exit_code, 0) << mpi.err;
  expect_same_files(folder, "alone", "mpirun");
}

TEST(AggregateRanks, WhatIsWrongIsSaidOnce) {
  const TemporaryFolder folder;
  make_crowd(folder, 20);
  const Outcome usage = run_host({"aggregate", "crowd.json", "-m", "moj", "--processes", "2"}, folder.path());
  EXPECT_EQ(usage.exit_code, 2);
  EXPECT_EQ(usage.err.find("\"moj\""), usage.err.rfind("\"moj\"")) << usage.err;
  const Outcome missing = run_host({"aggregate", "nowhere.json", "--processes", "3"}, folder.path());
  EXPECT_EQ(missing.exit_code, 4) << missing.err;
  EXPECT_NE(missing.err.find("nowhere.json"), std::string::npos) << missing.err;
  EXPECT_EQ(missing.err.find("nowhere.json"), missing.err.rfind("nowhere.json")) << missing.err;
  const Outcome all = run_host({"aggregate", "crowd.json", "-m", "all", "--processes", "2"}, folder.path());
  EXPECT_EQ(all.exit_code, 2);
  EXPECT_NE(all.err.find("--method all compares in one process"), std::string::npos) << all.err;
}

TEST(AggregateRanks, DifferentLabelsOrSettingsAreRefusedOnEveryRank) {
  const TemporaryFolder folder;
  make_crowd(folder, 20);
  make_crowd(folder, 20, "other.json", "2");
  const auto refused = [&](const std::vector<std::string>& first, const std::vector<std::string>& second,
                           const std::string& what) {
    for (const Outcome& outcome : by_hand(folder, {first, second})) {
      EXPECT_EQ(outcome.exit_code, 10) << outcome.err;
      EXPECT_NE(outcome.err.find("rank 1 has another " + what + " than rank 0"), std::string::npos) << outcome.err;
    }
  };
  refused({"aggregate", "crowd.json", "-o", "x.json"}, {"aggregate", "other.json", "-o", "x.json"}, "set of labels");
  refused({"aggregate", "crowd.json", "-o", "x.json"}, {"aggregate", "crowd.json", "-o", "x.json", "-m", "mv"},
          "method");
  refused({"aggregate", "crowd.json", "--option", "tolerance=1e-5"}, {"aggregate", "crowd.json"}, "method");
  EXPECT_FALSE(fs::exists(folder.path() / "x.json"));
}

/// Starts ranks on a crowd that takes long and does something to the second of them once they are at work.
Outcome disturbed(const TemporaryFolder& folder, const std::function<void(pid_t)>& disturb) {
  RunningProgram program(with_host({"aggregate", "crowd.json", "-o", "x.json", "--processes", "2", "--timeout", "3",
                                    "--threads", "1", "--option", "tolerance=0", "--option", "max_rounds=100000"}),
                         folder.path());
  for (int n = 0; n < 600 && program.err_so_far().find("ranks by --processes") == std::string::npos; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const auto ranks = ranks_in(folder);
  if (ranks.size() == 2) disturb(ranks[1]);
  EXPECT_EQ(ranks.size(), 2U);
  return program.wait();
}

TEST(AggregateRanks, AKilledOrStoppedRankIsNamedAndNothingIsWritten) {
  const TemporaryFolder folder;
  make_crowd(folder, 1000);
  const auto begun = std::chrono::steady_clock::now();
  const Outcome killed = disturbed(folder, [](pid_t rank) { ::kill(rank, SIGKILL); });
  EXPECT_EQ(killed.exit_code, 128 + SIGKILL) << killed.err;
  EXPECT_NE(killed.err.find("rank 1 is gone"), std::string::npos) << killed.err;
  const Outcome stopped = disturbed(folder, [](pid_t rank) { ::kill(rank, SIGSTOP); });
  EXPECT_EQ(stopped.exit_code, 10) << stopped.err;
  EXPECT_NE(stopped.err.find("rank 1 is gone"), std::string::npos) << stopped.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(120));
  EXPECT_FALSE(fs::exists(folder.path() / "x.json"));
}

TEST(AggregateRanks, AnInterruptLeavesNothingHalfWritten) {
  const TemporaryFolder folder;
  make_crowd(folder, 1000);
  RunningProgram program(with_host({"aggregate", "crowd.json", "-o", "x.json", "--processes", "2", "--option",
                                    "tolerance=0", "--option", "max_rounds=100000"}),
                         folder.path());
  for (int n = 0; n < 600 && program.err_so_far().find("ranks by --processes") == std::string::npos; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  program.send(SIGINT);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_FALSE(fs::exists(folder.path() / "x.json"));
  EXPECT_TRUE(ranks_in(folder).empty());
}

TEST(AggregateRanks, WithoutTheEngineSayWhatToInstall) {
  const TemporaryFolder folder;
  fs::copy_file(BDC_HOST, folder.path() / "bdc-host");
  const Outcome outcome =
      run({(folder.path() / "bdc-host").string(), "aggregate", "crowd.json", "--processes", "2"}, folder.path());
  EXPECT_EQ(outcome.exit_code, 8) << outcome.err;
  EXPECT_NE(outcome.err.find("labels can be read, evaluated and, in one process, aggregated without it"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("packages-engine.txt"), std::string::npos) << outcome.err;
}

}  // namespace
