// The simulated crowd has the qualities it says it has.

#include "data/crowd_shapes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bdc::host {
namespace {

CrowdShapesSettings two_of_each() {
  CrowdShapesSettings s;
  s.experts = s.average = s.poor = s.random = 2;
  return s;
}

std::vector<Annotation> of_annotator(const CrowdData& labels, const std::string& name) {
  std::vector<Annotation> out;
  for (const auto& a : labels.annotations) {
    if (labels.annotators[static_cast<std::size_t>(a.annotator)].name == name) out.push_back(a);
  }
  return out;
}

TEST(CrowdShapes, NobodyByDefault) {
  const CrowdShapesData data({5, 3, 64, 2, 1}, {});
  EXPECT_TRUE(data.annotators().empty());
  EXPECT_TRUE(data.labels().annotators.empty());
  EXPECT_TRUE(data.labels().has_truth);
}

TEST(CrowdShapes, AnnotatorsAreNamedAndEveryBoxIsInsideAndInWholePixels) {
  const CrowdShapesData data({60, 5, 96, 3, 1}, two_of_each());
  const auto& labels = data.labels();
  ASSERT_EQ(labels.annotators.size(), 8u);
  EXPECT_EQ(labels.annotators[0].name, "expert-1");
  EXPECT_EQ(labels.annotators[7].name, "random-2");
  EXPECT_EQ(data.annotators()[7].skill, "random");
  EXPECT_TRUE(labels.assignments_known);
  EXPECT_EQ(labels.assignments.size(), 60u * 8u);
  for (const auto& a : labels.annotations) {
    EXPECT_TRUE(a.box.valid());
    EXPECT_GE(std::min(a.box.x1, a.box.y1), 0);
    EXPECT_LE(std::max(a.box.x2, a.box.y2), 96);
    EXPECT_EQ(a.box.x1, std::floor(a.box.x1));
  }
  EXPECT_EQ(data.labels().truth.size(), ShapesData({60, 5, 96, 3, 1}).labels().truth.size());
}

TEST(CrowdShapes, WhatSomebodyDrawsDoesNotDependOnTheOthers) {
  CrowdShapesSettings more = two_of_each();
  more.average = 5;
  const CrowdShapesData few({20, 5, 96, 3, 1}, two_of_each()), many({20, 5, 96, 3, 1}, more);
  for (const char* name : {"expert-2", "average-1", "random-2"}) {
    const auto a = of_annotator(few.labels(), name), b = of_annotator(many.labels(), name);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t n = 0; n < a.size(); ++n) EXPECT_TRUE(a[n].box == b[n].box && a[n].label == b[n].label);
  }
  CrowdShapesSettings other = two_of_each();
  other.seed = 2;
  const CrowdShapesData reseeded({20, 5, 96, 3, 1}, other);
  EXPECT_NE(reseeded.annotators()[0].bias, few.annotators()[0].bias);
}

/// One annotator alone, no invented boxes: what was drawn against the truth.
TEST(CrowdShapes, RecallClassesAndBiasAreThoseOfTheTable) {
  CrowdShapesSettings s;
  s.average = 1;
  s.average_numbers = {0.8, 0, 0.6, 0.05};
  s.seed = 11;
  const ShapesSettings shapes{1500, 6, 160, 1, 3};
  const CrowdShapesData data(shapes, s);
  const auto& labels = data.labels();
  const auto& who = data.annotators()[0];
  double drawn = 0, right = 0, neighbours = 0;
  std::array<double, 4> sum{};
  for (const auto& a : labels.annotations) {
    const auto& t = labels.truth[labels.truth_begin[static_cast<std::size_t>(a.image)]];
    ++drawn;
    right += a.label == t.label;
    neighbours += std::abs(a.label - t.label) == 1 || std::abs(a.label - t.label) == 5;
    const auto centre = [](double low, double high) { return (low + high) / 2; };
    sum[0] += (centre(a.box.x1, a.box.x2) - centre(t.box.x1, t.box.x2)) / t.box.width();
    sum[1] += (centre(a.box.y1, a.box.y2) - centre(t.box.y1, t.box.y2)) / t.box.height();
    sum[2] += std::log(a.box.width() / t.box.width());
    sum[3] += std::log(a.box.height() / t.box.height());
  }
  EXPECT_NEAR(drawn / double(labels.truth.size()), who.recall, 0.04);
  EXPECT_NEAR(right / drawn, who.class_accuracy, 0.05);
  EXPECT_GT(neighbours, 3 * (drawn - right - neighbours));
  for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(sum[c] / drawn, who.bias[c], 0.008) << c;
}

TEST(CrowdShapes, InventedBoxesComeAtTheirRateAndGuessersGuessEvenly) {
  CrowdShapesSettings s;
  s.random = 1;
  s.random_numbers = {0, 1.5, 0, 0.6};
  const CrowdShapesData data({1000, 4, 64, 2, 3}, s);
  EXPECT_NEAR(double(data.labels().annotations.size()), 1500, 60);
  EXPECT_EQ(data.annotators()[0].class_accuracy, 0.25);
}

TEST(CrowdShapes, AShareOfTheImagesIsSeenAndNoImageIsSeenByNobody) {
  CrowdShapesSettings s = two_of_each();
  s.share = 0.1;
  const CrowdShapesData data({1000, 4, 64, 2, 3}, s);
  const auto& labels = data.labels();
  std::size_t unseen = 0;
  for (std::size_t i = 0; i < 1000; ++i) unseen += labels.assignment_begin[i] == labels.assignment_begin[i + 1];
  EXPECT_EQ(unseen, 0u);
  // 8 annotators at 0.1 each, and one more for the 0.9^8 of the images that nobody had
  EXPECT_NEAR(double(labels.assignments.size()), 1000 * (0.8 + std::pow(0.9, 8)), 90);
  EXPECT_LT(labels.annotations.size(), 4000u);
}

TEST(CrowdShapes, SettingsThatMakeNoSenseAreRefused) {
  CrowdShapesSettings s = two_of_each();
  s.share = 0;
  EXPECT_THROW(CrowdShapesData({2, 4, 64, 2, 3}, s), std::invalid_argument);
  s = two_of_each();
  s.expert_numbers.recall = 1.5;
  EXPECT_THROW(CrowdShapesData({2, 4, 64, 2, 3}, s), std::invalid_argument);
}

}  // namespace
}  // namespace bdc::host
