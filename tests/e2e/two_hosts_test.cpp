// Two hosts with a rank each: network namespaces that are joined by a cable, which can be pulled.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "support/rank_programs.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::Outcome;
using bdc::test::read_file;
using bdc::test::run;
using bdc::test::run_host;
using bdc::test::RunningProgram;
using bdc::test::TemporaryFolder;
using bdc::test::with_host;

/// Namespaces a and b; each has one end of the cable. Gone with this object.
class TwoHosts {
 public:
  TwoHosts() {
    ip({"netns", "add", host(0)}) && ip({"netns", "add", host(1)}) &&
        ip({"link", "add", "wire0", "netns", host(0), "type", "veth", "peer", "name", "wire1", "netns", host(1)}) &&
        set_up(0) && set_up(1);
  }
  ~TwoHosts() {
    for (int h : {0, 1}) (void)run({"ip", "netns", "del", host(h)}, folder_.path());
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  /// Why there are none; "" where there are.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  /// Pulls the cable, and puts it back.
  void set_link(bool up) { ip({"-n", host(0), "link", "set", "wire0", up ? "up" : "down"}); }

  /// Starts both ranks, by the variables that torchrun sets.
  std::vector<std::unique_ptr<RunningProgram>> start(const std::vector<std::string>& words, const fs::path& folder) {
    std::vector<std::unique_ptr<RunningProgram>> out;
    for (int r : {0, 1}) {
      std::vector<std::string> all = {"ip", "netns", "exec", host(r)};
      const auto program = with_host(words);
      all.insert(all.end(), program.begin(), program.end());
      out.push_back(std::make_unique<RunningProgram>(
          all, folder,
          std::vector<std::string>{"RANK=" + std::to_string(r), "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
                                   "MASTER_ADDR=10.77.0.1", "MASTER_PORT=29507", "OPENBLAS_NUM_THREADS=1"}));
    }
    return out;
  }
  std::vector<Outcome> finish(const std::vector<std::string>& words, const fs::path& folder) {
    std::vector<Outcome> out;
    for (auto& rank : start(words, folder)) out.push_back(rank->wait());
    return out;
  }

 private:
  [[nodiscard]] static std::string host(int number) {
    return "bdc-" + std::to_string(::getpid()) + (number == 0 ? "a" : "b");
  }
  bool set_up(int h) {
    const std::string wire = "wire" + std::to_string(h), address = "10.77.0." + std::to_string(h + 1) + "/24";
    return ip({"-n", host(h), "addr", "add", address, "dev", wire}) && ip({"-n", host(h), "link", "set", wire, "up"}) &&
           ip({"-n", host(h), "link", "set", "lo", "up"});
  }
  bool ip(std::vector<std::string> words) {
    words.insert(words.begin(), "ip");
    const Outcome outcome = run(words, folder_.path());
    if (outcome.exit_code != 0 && why_not_.empty()) {
      why_not_ = outcome.exit_code == 127 ? "there is no program 'ip' (package iproute2)"
                                          : "`ip " + words[1] + " " + words[2] + "` says: " + outcome.err;
    }
    return outcome.exit_code == 0;
  }

  TemporaryFolder folder_;
  std::string why_not_;
};

// Without the rights to make namespaces there are no two hosts to test on, and it says so.
#define BDC_NEED_TWO_HOSTS(hosts) \
  TwoHosts hosts;                 \
  if (!hosts.why_not().empty())   \
  GTEST_SKIP() << "NOT TESTED: two hosts need network namespaces, hence root; " + hosts.why_not()

std::vector<std::string> training(const std::string& epochs) {
  std::vector<std::string> words = {"train", "--plugin", "minimal", "--hook", "bdc", "--set", "output.name=run"};
  for (const std::string& set :
       {std::string("data.shapes.train_images=22"), std::string("data.shapes.test_images=6"),
        std::string("data.shapes.crowd.average=3"), std::string("train.batch_size=4"),
        std::string("plugin.options.width=4"), std::string("train.threads=1"), std::string("train.checkpoint_every=2"),
        std::string("train.timeout=4"), "train.epochs=" + epochs}) {
    words.insert(words.end(), {"--set", set});
  }
  return words;
}

fs::path checkpoint(const TemporaryFolder& folder) {
  return folder.path() / "runs/run/last.safetensors";
}

TEST(TwoHosts, TrainWithTheBitsOfTwoProcessesAlsoWhenTheCableIsPulledInBetween) {
  BDC_NEED_TWO_HOSTS(hosts);
  const TemporaryFolder one_host, two_hosts;
  std::vector<std::string> words = training("60");
  words.insert(words.end(), {"-q", "--processes", "2"});
  ASSERT_EQ(run_host(words, one_host.path()).exit_code, 0);

  auto ranks = hosts.start(training("60"), two_hosts.path());
  for (int n = 0; n < 1200 && !fs::exists(checkpoint(two_hosts)); ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  ASSERT_TRUE(fs::exists(checkpoint(two_hosts))) << ranks[0]->err_so_far() << ranks[1]->err_so_far();
  hosts.set_link(false);
  const auto pulled = std::chrono::steady_clock::now();
  const Outcome first = ranks[0]->wait(), second = ranks[1]->wait();
  EXPECT_LT(std::chrono::steady_clock::now() - pulled, std::chrono::seconds(25));
  EXPECT_EQ(first.exit_code, 10) << first.err;
  EXPECT_EQ(second.exit_code, 10) << second.err;
  EXPECT_NE(first.err.find("2 ranks by torchrun, of which 1 on this machine; they meet at 10.77.0.1:29507"),
            std::string::npos)
      << first.err;
  EXPECT_NE(first.err.find("rank 1 is gone (last seen: rank 1 at epoch "), std::string::npos) << first.err;
  EXPECT_NE(second.err.find("rank 0 is gone: where the ranks meet does not answer; this is rank 1 of 2 at epoch "),
            std::string::npos)
      << second.err;

  hosts.set_link(true);
  for (const Outcome& outcome : hosts.finish({"train", "--resume", "runs/run"}, two_hosts.path())) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  EXPECT_TRUE(read_file(checkpoint(one_host)) == read_file(checkpoint(two_hosts)));
}

TEST(TwoHosts, AggregateWithTheBitsOfOneProcess) {
  BDC_NEED_TWO_HOSTS(hosts);
  const TemporaryFolder folder;
  const Outcome made = run_host(
      {"synth", "--shapes", "300", "--preset", "noisy", "-o", "crowd.json", "--write-truth", "t"}, folder.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto words = [](const std::string& name) {
    return std::vector<std::string>{"aggregate",    "crowd.json",   "-q",         "-o",
                                    name + ".json", "--annotators", name + ".who"};
  };
  ASSERT_EQ(run_host(words("alone"), folder.path()).exit_code, 0);
  for (const Outcome& outcome : hosts.finish(words("two"), folder.path()))
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* kind : {".json", ".who"}) {
    const std::string alone = read_file(folder.path() / (std::string("alone") + kind));
    EXPECT_FALSE(alone.empty());
    EXPECT_TRUE(alone == read_file(folder.path() / (std::string("two") + kind))) << kind;
  }
}

TEST(TwoHosts, WithoutACableSayThatTheyDoNotReachEachOther) {
  BDC_NEED_TWO_HOSTS(hosts);
  hosts.set_link(false);
  const TemporaryFolder folder;
  const auto outcomes = hosts.finish(training("1"), folder.path());
  EXPECT_EQ(outcomes[0].exit_code, 10);
  EXPECT_NE(outcomes[0].err.find("rank 1 has not come to 10.77.0.1:29507 within 4 s"), std::string::npos)
      << outcomes[0].err;
  EXPECT_EQ(outcomes[1].exit_code, 10);
  EXPECT_NE(outcomes[1].err.find("rank 1 has not reached 10.77.0.1:29507"), std::string::npos) << outcomes[1].err;
  EXPECT_FALSE(fs::exists(folder.path() / "runs"));
}

}  // namespace
