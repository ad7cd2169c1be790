#include "engine/launch_mark.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

Launch launch_of(const std::string& job) {
  Launch out;
  out.launcher = "torchrun";
  out.can_restart = true;
  out.job = job;
  return out;
}

TEST(LaunchMark, ALaunchFindsItsOwnRunAndNoOther) {
  const test::TemporaryFolder folder;
  for (const char* run : {"a", "b", "c"}) std::filesystem::create_directory(folder.path() / run);
  LaunchMark(launch_of("one")).write(folder.path() / "a");
  LaunchMark(launch_of("two")).write(folder.path() / "b");
  LaunchMark(launch_of("")).write(folder.path() / "c");  // by the process that has started this one
  EXPECT_EQ(LaunchMark(launch_of("one")).find(folder.path()), folder.path() / "a");
  EXPECT_EQ(LaunchMark(launch_of("two")).find(folder.path()), folder.path() / "b");
  EXPECT_EQ(LaunchMark(launch_of("")).find(folder.path()), folder.path() / "c");
  EXPECT_FALSE(LaunchMark(launch_of("three")).find(folder.path()));
  EXPECT_FALSE(LaunchMark(launch_of("one")).find(folder.path() / "nowhere"));
}

TEST(LaunchMark, AFirstAttemptForgetsRunsOfAnEarlierLaunchWithItsName) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "a");
  LaunchMark(launch_of("one")).write(folder.path() / "a");
  LaunchMark(launch_of("two")).forget(folder.path());
  EXPECT_TRUE(LaunchMark(launch_of("one")).find(folder.path()));
  LaunchMark(launch_of("one")).forget(folder.path());
  EXPECT_FALSE(LaunchMark(launch_of("one")).find(folder.path()));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "a"));
}

}  // namespace
}  // namespace bdc::host
