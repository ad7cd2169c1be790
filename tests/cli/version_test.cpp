#include <gtest/gtest.h>

#include "support/run_program.h"

namespace {

using bdc::test::run_host;

TEST(CommandLine, VersionTellsTheFingerprint) {
  const auto outcome = run_host({"version"}, "/");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("LibTorch"), std::string::npos);
}

TEST(CommandLine, TrainingWithoutAPluginSaysHowToNameOne) {
  const auto outcome = run_host({"train"}, "/");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--plugin NAME"), std::string::npos);
}

}  // namespace
