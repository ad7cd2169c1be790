#include <gtest/gtest.h>

#include <opencv2/imgproc.hpp>

#include "data/shapes.h"

namespace bdc::host {
namespace {

double difference(const cv::Mat& a, const cv::Mat& b) {
  return cv::norm(a, b, cv::NORM_INF);
}

TEST(Shapes, AnImageDependsOnSeedAndIndexAlone) {
  const ShapesData few({5, 4, 64, 3, 9}), many({50, 4, 64, 3, 9}), other({5, 4, 64, 3, 10});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(difference(few.image(i), many.image(i)), 0);
    EXPECT_GT(difference(few.image(i), other.image(i)), 0);
  }
}

/// The truth is exact: repainting inside the boxes is the only way to change the shapes, and each box is touched by its
/// shape on all four sides. Shapes are brighter than the background in at least one channel.
TEST(Shapes, EveryTruthBoxIsTightAndInsideTheImage) {
  const ShapesData data({200, kShapeClasses, 96, 4, 3});
  for (const auto& t : data.labels().truth) {
    EXPECT_TRUE(t.box.valid());
    EXPECT_GE(t.box.x1, 0);
    EXPECT_GE(t.box.y1, 0);
    EXPECT_LE(t.box.x2, 96);
    EXPECT_LE(t.box.y2, 96);
    const cv::Mat image = data.image(t.image);
    const cv::Rect box(static_cast<int>(t.box.x1), static_cast<int>(t.box.y1), static_cast<int>(t.box.width()),
                       static_cast<int>(t.box.height()));
    const auto flat_pixels =
        [&](const cv::Rect& strip) {  // a shape has one exact colour, the textured background has not
          std::map<std::array<int, 3>, int> counts;
          int most = 0;
          for (int y = strip.y; y < strip.y + strip.height; ++y) {
            for (int x = strip.x; x < strip.x + strip.width; ++x) {
              const auto p = image.at<cv::Vec3b>(y, x);
              most = std::max(most, ++counts[{p[0], p[1], p[2]}]);
            }
          }
          return most;
        };
    EXPECT_GE(flat_pixels(box), box.area() / 5) << data.labels().classes[static_cast<std::size_t>(t.label)].name;
  }
}

TEST(Shapes, EveryClassAppearsAndObjectsAreWithinTheirLimit) {
  const ShapesData data({300, 6, 96, 3, 1});
  std::vector<int> seen(6, 0);
  for (const auto& t : data.labels().truth) ++seen[static_cast<std::size_t>(t.label)];
  for (const int count : seen) EXPECT_GT(count, 40);
  for (std::size_t i = 0; i < 300; ++i) {
    const auto n = data.labels().truth_begin[i + 1] - data.labels().truth_begin[i];
    EXPECT_GE(n, 1u);
    EXPECT_LE(n, 3u);
  }
}

TEST(Shapes, SettingsThatMakeNoSenseAreRefused) {
  EXPECT_THROW(ShapesData({0, 4, 64, 3, 1}), std::invalid_argument);
  EXPECT_THROW(ShapesData({1, kShapeClasses + 1, 64, 3, 1}), std::invalid_argument);
  EXPECT_THROW((void)ShapesData({1, 4, 64, 3, 1}).image(1), std::out_of_range);
}

}  // namespace
}  // namespace bdc::host
