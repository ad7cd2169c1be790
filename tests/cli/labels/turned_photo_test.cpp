// A phone's photo: stored on its side, with an EXIF orientation that turns it upright. Every verb sees what a viewer
// shows.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/run_program.h"
#include "support/turned_photo.h"

namespace {

using bdc::test::read_file;
using bdc::test::run_host;
using bdc::test::TurnedPhoto;
using Json = nlohmann::json;

void expect_upright(const Json& file) {
  EXPECT_EQ(file["images"][0]["width"], 32);
  EXPECT_EQ(file["images"][0]["height"], 48);
  ASSERT_FALSE(file["annotations"].empty());
  const auto box = file["annotations"][0]["bbox"].get<std::vector<double>>();
  EXPECT_NEAR(box[0], 8, 0.5);
  EXPECT_NEAR(box[1], 6, 0.5);
  EXPECT_NEAR(box[2], 16, 0.5);
  EXPECT_NEAR(box[3], 12, 0.5);
}

TEST(PhonePhoto, ConvertAndAggregateScaleLabelsToTheShownFrame) {
  TurnedPhoto photo;
  auto outcome = run_host({"convert", "labels", "crowd.json", "--image-folder", "photos"}, photo.folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_upright(Json::parse(read_file(photo.folder.path() / "crowd.json")));
  outcome = run_host({"aggregate", "labels", "-o", "consensus.json", "--image-folder", "photos"}, photo.folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_upright(Json::parse(read_file(photo.folder.path() / "consensus.json")));
}

}  // namespace
