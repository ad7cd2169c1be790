#include "bdc/metrics/drawn_alpha.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "bdc/metrics/agreement.h"

namespace bdc {
namespace {

/// `people` annotators see `images` images, two classes.
CrowdData crowd_of(std::int32_t images, std::int32_t people) {
  CrowdData out;
  out.classes.resize(2);
  out.annotators.resize(static_cast<std::size_t>(people));
  for (std::int32_t i = 0; i < images; ++i) {
    ImageRecord image;
    image.width = image.height = 100;
    out.images.push_back(image);
    for (std::int32_t k = 0; k < people; ++k) out.assignments.push_back({i, k});
  }
  return out;
}

TEST(DrawnAlpha, IsOneWhereAllDrewTheSame) {
  CrowdData crowd = crowd_of(6, 3);
  for (std::int32_t i = 0; i < 6; ++i) {
    for (std::int32_t k = 0; k < 3; ++k) crowd.annotations.push_back({{10, 10, 50, 50}, i, i % 2, k});
  }
  crowd.finalize();
  const DrawnAlpha out = drawn_alpha(crowd, 0.5);
  EXPECT_EQ(out.units, 6u);
  EXPECT_NEAR(out.all.alpha, 1, 1e-12);
  for (const AlphaFigure& figure : out.classes) EXPECT_NEAR(figure.alpha, 1, 1e-12);
  for (const double without : out.without) EXPECT_NEAR(without, 1, 1e-12);
}

TEST(DrawnAlpha, IsKrippendorffsAlphaOfClassesAndNothing) {
  // Values by place, of three people: 0 class 0, 1 class 1, 2 nothing.
  const std::vector<std::vector<int>> places{{0, 0, 0}, {0, 1, 2}, {1, 1, 2}, {1, 1, 1}, {0, 2, 2}, {2, 0, 0}};
  CrowdData crowd = crowd_of(6, 3);
  std::vector<std::int32_t> values;
  std::vector<std::size_t> begin{0};
  for (std::int32_t i = 0; i < 6; ++i) {
    for (std::int32_t k = 0; k < 3; ++k) {
      const int value = places[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)];
      values.push_back(value);
      if (value < 2) crowd.annotations.push_back({{10, 10, 50, 50}, i, value, k});
    }
    begin.push_back(values.size());
  }
  crowd.finalize();
  const DrawnAlpha out = drawn_alpha(crowd, 0.5);
  EXPECT_NEAR(out.all.alpha, krippendorff_alpha(values, begin, 3), 1e-12);
  EXPECT_LE(out.all.low, out.all.alpha);
  EXPECT_GE(out.all.high, out.all.alpha);
  std::vector<std::int32_t> first(values);
  for (std::int32_t& v : first) v = v == 0 ? 0 : 1;
  EXPECT_NEAR(out.classes[0].alpha, krippendorff_alpha(first, begin, 2), 1e-12);
  // Without the first annotator; the fifth place is then drawn by nobody.
  std::vector<std::int32_t> rest;
  std::vector<std::size_t> rest_begin{0};
  for (std::size_t u = 0; u < 6; ++u) {
    if (places[u][1] == 2 && places[u][2] == 2) continue;
    rest.insert(rest.end(), {places[u][1], places[u][2]});
    rest_begin.push_back(rest.size());
  }
  EXPECT_NEAR(out.without[0], krippendorff_alpha(rest, rest_begin, 3), 1e-12);
}

TEST(DrawnAlpha, FallsWithTheOverlapThatIsAskedFor) {
  CrowdData crowd = crowd_of(8, 2);
  for (std::int32_t i = 0; i < 8; ++i) {
    crowd.annotations.push_back({{10, 10, 50, 50}, i, i % 2, 0});
    crowd.annotations.push_back({{10, 10, 50, 50.0 + (i % 2 == 0 ? 0 : 12)}, i, i % 2, 1});  // IoU 1 or 0.77
  }
  crowd.finalize();
  EXPECT_NEAR(drawn_alpha(crowd, 0.7).all.alpha, 1, 1e-12);
  EXPECT_LT(drawn_alpha(crowd, 0.8).all.alpha, 0.6);
  EXPECT_NEAR(drawn_alpha(crowd, 0.8).classes[0].alpha, 1, 0.2);
}

TEST(DrawnAlpha, ThreadsDoNotMatterAndNonsenseIsRefused) {
  CrowdData crowd = crowd_of(40, 4);
  for (std::int32_t i = 0; i < 40; ++i) {
    for (std::int32_t k = 0; k < 4; ++k) {
      if ((i * k) % 3 != 1) crowd.annotations.push_back({{10.0 + k, 10, 50, 50.0 + i % 7}, i, (i + k / 3) % 2, k});
    }
  }
  crowd.finalize();
  const DrawnAlpha one = drawn_alpha(crowd, 0.6, 50, 1, 1), three = drawn_alpha(crowd, 0.6, 50, 1, 3);
  EXPECT_EQ(one.all.alpha, three.all.alpha);
  EXPECT_EQ(one.all.low, three.all.low);
  EXPECT_EQ(one.without, three.without);
  EXPECT_THROW((void)drawn_alpha(crowd, 0), std::invalid_argument);
  EXPECT_THROW((void)drawn_alpha(crowd, 1), std::invalid_argument);
  CrowdData empty = crowd_of(3, 2);
  empty.finalize();
  EXPECT_TRUE(std::isnan(drawn_alpha(empty, 0.5).all.alpha));
}

}  // namespace
}  // namespace bdc
