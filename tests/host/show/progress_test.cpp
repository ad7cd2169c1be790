#include "show/progress.h"

#include <gtest/gtest.h>

namespace bdc::host {
namespace {

TEST(LiveLine, TheDetailGivesWayFirstAndTheEndLast) {
  EXPECT_EQ(fitted("loss 1.5", " (box 1.0)", "  ETA 1:05", 28), "loss 1.5 (box 1.0)  ETA 1:05");
  EXPECT_EQ(fitted("loss 1.5", " (box 1.0)", "  ETA 1:05", 27), "loss 1.5  ETA 1:05");
  EXPECT_EQ(fitted("loss 1.5", " (box 1.0)", "  ETA 1:05", 10), "loss 1.5  ");
}

TEST(ClockText, ShowsMinutesAndHours) {
  EXPECT_EQ(clock_text(65.2), "1:05");
  EXPECT_EQ(clock_text(7389), "2:03:09");
}

}  // namespace
}  // namespace bdc::host
