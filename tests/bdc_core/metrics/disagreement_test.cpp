#include "bdc/metrics/disagreement.h"

#include <gtest/gtest.h>

#include "bdc/metrics/correlation.h"
#include "bdc/metrics/measured_annotators.h"

namespace bdc {
namespace {

/// One image of 100 x 100 that `annotators` saw, two classes.
CrowdData one_image(int annotators) {
  CrowdData data;
  data.images.resize(1);
  data.images[0].width = data.images[0].height = 100;
  data.classes.resize(2);
  data.annotators.resize(static_cast<std::size_t>(annotators));
  for (int k = 0; k < annotators; ++k) data.assignments.push_back({0, k});
  data.assignments_known = true;
  return data;
}

const Box kBox{10, 10, 50, 50}, kOther{60, 60, 90, 90};

TEST(Disagreement, NoneWhereAllDrewTheSame) {
  CrowdData data = one_image(3);
  for (int k = 0; k < 3; ++k) data.annotations.push_back({kBox, 0, 1, k});
  data.finalize();
  EXPECT_NEAR(image_disagreement(data)[0], 0, 1e-12);
}

TEST(Disagreement, FullWhereNoTwoDrewACommonObject) {
  CrowdData data = one_image(2);
  data.annotations = {{kBox, 0, 0, 0}, {kOther, 0, 0, 1}};
  data.finalize();
  EXPECT_NEAR(image_disagreement(data)[0], 1, 1e-12);
}

TEST(Disagreement, IsThatOfTwoWhoArePickedAtRandom) {
  // Four looked; three drew the object, one of them with another class. Of 12 ordered pairs 2 agree, and 12 have one
  // who drew it.
  CrowdData data = one_image(4);
  data.annotations = {{kBox, 0, 0, 0}, {kBox, 0, 0, 1}, {kBox, 0, 1, 2}};
  data.finalize();
  EXPECT_NEAR(image_disagreement(data)[0], 1 - 2.0 / 12, 1e-12);
}

TEST(Disagreement, OneLookerOrNoBoxIsNone) {
  CrowdData alone = one_image(1);
  alone.annotations = {{kBox, 0, 0, 0}};
  alone.finalize();
  EXPECT_EQ(image_disagreement(alone)[0], 0);
  CrowdData silent = one_image(3);
  silent.finalize();
  EXPECT_EQ(image_disagreement(silent)[0], 0);
}

TEST(MeasuredAnnotators, CountsAndErrorsAgainstTheTruth) {
  CrowdData data = one_image(2);
  data.truth = {{kBox, 0, 0, false, 0}, {kOther, 0, 1, false, 0}};
  data.has_truth = true;
  // The first finds one object with its left edge a tenth of the width too far left, and invents a box.
  data.annotations = {{{6, 10, 50, 50}, 0, 1, 0}, {{0, 80, 20, 100}, 0, 0, 0}};
  data.finalize();
  const auto m = measure_annotators(data);
  EXPECT_EQ(m[0].objects, 2u);
  EXPECT_EQ(m[0].found, 1u);
  EXPECT_DOUBLE_EQ(m[0].recall(), 0.5);
  EXPECT_DOUBLE_EQ(m[0].spurious_per_image(), 1);
  EXPECT_DOUBLE_EQ(m[0].accuracy(), 0);
  EXPECT_NEAR(m[0].bias[0], -0.1, 1e-12);
  EXPECT_NEAR(m[0].bias[2], 0, 1e-12);
  EXPECT_DOUBLE_EQ(m[1].recall(), 0);
  EXPECT_EQ(m[1].images, 1u);
}

TEST(Correlation, IsOneForALineAndByRankForAnythingThatRises) {
  const std::vector<double> a = {1, 2, 3, 4}, line = {2, 4, 6, 8}, rises = {1, 10, 100, 1000}, falls = {3, 2, 1, 0};
  EXPECT_NEAR(correlation(a, line), 1, 1e-12);
  EXPECT_LT(correlation(a, rises), 0.95);
  EXPECT_NEAR(rank_correlation(a, rises), 1, 1e-12);
  EXPECT_NEAR(rank_correlation(a, falls), -1, 1e-12);
  EXPECT_TRUE(std::isnan(correlation(a, std::vector<double>(4, 1.0))));
}

TEST(Correlation, EqualValuesShareTheirRank) {
  // ranks 0.5 0.5 2 3 against 0 1 2 3
  EXPECT_NEAR(rank_correlation(std::vector<double>{1, 1, 2, 3}, std::vector<double>{1, 2, 3, 4}), 0.9486832980505138,
              1e-12);
}

}  // namespace
}  // namespace bdc
