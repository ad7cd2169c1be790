// A phone's photo: stored on its side, with an EXIF orientation that turns it upright. Every verb sees what a viewer
// shows.

#include <gtest/gtest.h>

#include "support/run_program.h"
#include "support/turned_photo.h"

namespace {

using bdc::test::run_host;
using bdc::test::TurnedPhoto;

TEST(PhonePhoto, TrainingTakesTheSameFrame) {
  TurnedPhoto photo;
  const auto outcome = run_host({"--plugin", "minimal", "--hook", "bdc", "--data", "labels", "--images", "photos",
                                 "--set", "train.epochs=1", "--set", "train.batch_size=1"},
                                photo.folder.path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace
