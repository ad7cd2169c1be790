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

}  // namespace
