#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/run_program.h"

namespace {

TEST(Demo, TheExampleDetectorLearnsTheShapes) {
  const bdc::test::TemporaryFolder folder;
  const auto outcome = bdc::test::run_host({"--plugin", "minimal", "--json"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GE(nlohmann::json::parse(outcome.out)["test"]["AP50"].get<double>(), 0.70);
}

TEST(Demo, YoloV7WithBdcNeedsNothingButItsName) {
  const bdc::test::TemporaryFolder folder;
  const auto outcome =
      bdc::test::run_host({"--plugin", "yolov7", "--hook", "bdc", "--set", "data.shapes.train_images=16", "--set",
                           "data.shapes.test_images=8", "--set", "train.epochs=2"},
                          folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("no --data: using the built-in demo data"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("What was learnt about the annotators (true values in brackets)"), std::string::npos);
  EXPECT_NE(outcome.out.find("expert-1"), std::string::npos) << outcome.out;
  const auto compared = bdc::test::run_host({"compare", "runs/yolov7-1"}, folder.path());
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_NE(compared.out.find("AP of the labels"), std::string::npos) << compared.out;
}

/// Two short epochs: that it learns at all. How far it gets in twelve is in docs/results.md.
TEST(Demo, ATransformerFromScratchLearnsFromACrowdWithBdc) {
  const bdc::test::TemporaryFolder folder;
  const auto outcome =
      bdc::test::run_host({"--plugin", "eva", "--hook", "bdc", "--quiet", "--set", "data.shapes.train_images=64",
                           "--set", "data.shapes.test_images=8", "--set", "train.epochs=2"},
                          folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::ifstream metrics(folder.path() / "runs/eva-1/metrics.jsonl");
  std::vector<double> losses;
  for (std::string line; std::getline(metrics, line);) {
    losses.push_back(nlohmann::json::parse(line)["train/loss"].get<double>());
  }
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_LT(losses[1], losses[0]);
}

}  // namespace
