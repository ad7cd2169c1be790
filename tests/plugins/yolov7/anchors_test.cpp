#include "yolov7/anchors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

namespace yolov7 {
namespace {

std::string message_of(const std::string& anchors) {
  try {
    (void)parse_anchors(anchors);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

/// Boxes around nine sizes, each a few per cent off.
std::vector<BoxSize> nine_groups() {
  std::vector<BoxSize> out;
  for (int group = 0; group < 9; ++group) {
    const double w = 6 * std::pow(1.7, group), h = (group % 2 == 0 ? 0.5 : 1.5) * w;
    for (int i = 0; i < 60; ++i) out.push_back({w * (1 + 0.001 * (i % 7 - 3)), h * (1 + 0.001 * (i % 5 - 2))});
  }
  return out;
}

TEST(Anchors, EighteenNumbersWithCommasOrSpacesAreTaken) {
  const auto numbers = parse_anchors("1, 2,3 4,5,6, 7,8,9,10,11,12,13,14,15,16,17,18.5");
  ASSERT_EQ(numbers.size(), 18U);
  EXPECT_EQ(numbers[3], 4.0);
  EXPECT_EQ(numbers[17], 18.5);
}

TEST(Anchors, WhatIsWrongWithTheTextIsNamed) {
  EXPECT_NE(message_of("1,2,3").find("found 3"), std::string::npos);
  EXPECT_NE(message_of("1,2,x").find("found 'x'"), std::string::npos);
  EXPECT_NE(message_of("1,-2").find("found '-2'"), std::string::npos);
  EXPECT_NE(message_of("1,nan").find("'nan'"), std::string::npos);
  EXPECT_NE(message_of("1,1e999").find("'1e999'"), std::string::npos);
}

TEST(Anchors, RecallCountsBoxesWithinAFactorOfFour) {
  const std::vector<double> one = {10, 10};
  EXPECT_DOUBLE_EQ(best_possible_recall(one, {{39, 10}, {41, 10}, {10, 2.6}, {10, 2.4}}), 0.5);
  EXPECT_DOUBLE_EQ(anchor_fitness(one, {{20, 10}, {41, 10}}), 0.25);  // 1/2 and nothing
}

TEST(Anchors, FittedAnchorsFindTheGroupsInOrderOfArea) {
  const auto boxes = nine_groups();
  const auto anchors = fit_anchors(boxes);
  ASSERT_EQ(anchors.size(), 18U);
  EXPECT_GT(anchor_fitness(anchors, boxes), 0.97);
  EXPECT_DOUBLE_EQ(best_possible_recall(anchors, boxes), 1.0);
  for (std::size_t i = 2; i < 18; i += 2) {
    EXPECT_LE(anchors[i - 2] * anchors[i - 1], anchors[i] * anchors[i + 1]);
  }
}

TEST(Anchors, MutationNeverLosesWhatKMeansFound) {
  const auto boxes = nine_groups();
  AnchorSearch none, many;
  none.generations = 0;
  many.generations = 500;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    none.seed = many.seed = seed;
    EXPECT_GE(anchor_fitness(fit_anchors(boxes, many), boxes), anchor_fitness(fit_anchors(boxes, none), boxes));
  }
}

TEST(Anchors, TheSameSeedGivesTheSameAnchors) {
  EXPECT_EQ(fit_anchors(nine_groups()), fit_anchors(nine_groups()));
}

TEST(Anchors, EqualBoxesAreNoTrouble) {
  const auto anchors = fit_anchors(std::vector<BoxSize>(20, {30, 40}));
  for (std::size_t i = 0; i < 18; i += 2) EXPECT_TRUE(std::isfinite(anchors[i]) && anchors[i] > 0);
  EXPECT_GT(anchor_fitness(anchors, {{30, 40}}), 0.99);
}

TEST(Anchors, TooFewBoxesAreRefusedAndSuitedOnesStay) {
  EXPECT_THROW((void)fit_anchors({{10, 10}, {1, 1}}), std::invalid_argument);
  const std::vector<double> anchors(18, 20.0);
  EXPECT_EQ(suited_anchors(anchors, {}), anchors);
  EXPECT_EQ(suited_anchors(anchors, {{500, 500}}), anchors);                          // too few to fit
  EXPECT_EQ(suited_anchors(anchors, std::vector<BoxSize>(50, {25, 18})), anchors);    // suits
  EXPECT_NE(suited_anchors(anchors, std::vector<BoxSize>(50, {250, 180})), anchors);  // misses all
}

}  // namespace
}  // namespace yolov7
