#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  EXPECT_NE(outcome.err.find("no --data: the built-in demo data"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("What was learnt of the annotators (and what is true of them)"), std::string::npos);
  EXPECT_NE(outcome.out.find("expert-1"), std::string::npos) << outcome.out;
  const auto compared = bdc::test::run_host({"compare", "runs/yolov7-1"}, folder.path());
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_NE(compared.out.find("AP of the labels"), std::string::npos) << compared.out;
}

TEST(Demo, ATransformerFromScratchLearnsTheShapesFromACrowdWithBdc) {
  const bdc::test::TemporaryFolder folder;
  const auto outcome = bdc::test::run_host({"--plugin", "eva", "--hook", "bdc", "--json"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GE(nlohmann::json::parse(outcome.out)["test"]["AP50"].get<double>(), 0.60);
}

}  // namespace
