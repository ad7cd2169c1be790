// The EVA plugin as the host sees it.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace {

namespace fs = std::filesystem;
using bdc::test::run_host;
using bdc::test::TemporaryFolder;

/// A small transformer, as options of the plugin.
const std::vector<std::string> kTiny = {"size=ti",      "embed_dim=32",  "depth=3",          "heads=2",
                                        "patch=8",      "window=4",      "pretrain_size=64", "pyramid_channels=16",
                                        "head_convs=1", "head_width=32", "global_blocks=1,2"};

class EvaDoctor : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(EvaDoctor, PassesEveryCheck) {
  const TemporaryFolder folder;
  std::vector<std::string> words = {"plugins", "doctor", "eva"};
  for (const auto& option : kTiny) words.insert(words.end(), {"-o", option});
  for (const auto& option : GetParam()) words.insert(words.end(), {"-o", option});
  const auto outcome = run_host(words, folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("16 of 16 checks passed"), std::string::npos) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Tiny, EvaDoctor,
                         ::testing::Values(std::vector<std::string>{},
                                           std::vector<std::string>{"drop_path=0.3", "layer_scale=0.1",
                                                                    "activation_checkpointing=true"}));

std::vector<std::string> dry_run(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"train", "--plugin", "eva", "--dry-run"};
  for (const auto& option : kTiny) words.insert(words.end(), {"--set", "plugin.options." + option});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(EvaDryRun, ListsEveryGroupsLearningRateAndWeightDecayAndWritesNothing) {
  const TemporaryFolder folder;
  const auto outcome = run_host(dry_run({"--json", "--set", "train.learning_rate=0.001", "--set",
                                         "train.weight_decay=0.1", "--set", "plugin.options.layer_decay=0.7"}),
                                folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(fs::is_empty(folder.path()));
  const auto plan = nlohmann::json::parse(outcome.out);
  // The embeddings, three blocks, and all after them; with and without weight decay.
  const auto& groups = plan.at("groups");
  ASSERT_EQ(groups.size(), 10U) << outcome.out;
  std::int64_t weights = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double below = 4 - std::floor(static_cast<double>(i) / 2);
    EXPECT_NEAR(groups[i].at("learning_rate").get<double>(), 0.001 * std::pow(0.7, below), 1e-12) << groups[i];
    EXPECT_EQ(groups[i].at("weight_decay").get<double>(), i % 2 == 0 ? 0.1 : 0.0) << groups[i];
    weights += groups[i].at("weights").get<std::int64_t>();
  }
  EXPECT_EQ(plan.at("weights").get<std::int64_t>(), weights);
  EXPECT_EQ(groups[0].at("name"), "embeddings: weights");
  EXPECT_EQ(groups[9].at("name"), "pyramid and heads: norms and biases");
}

TEST(EvaDryRun, PrintsATable) {
  const TemporaryFolder folder;
  const auto outcome = run_host(dry_run({"--hook", "mv"}), folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part :
       {"nothing is written", "400 images", "hooks: mv", "learning rate", "block 2: norms and biases"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_EQ(run_host({"train", "--dry-run", "--resume", "runs/eva-1"}, folder.path()).exit_code, 2);
}

}  // namespace
