#include "bdc/crowd/labels_digest.h"

#include <gtest/gtest.h>

namespace bdc {
namespace {

CrowdData one_true_box(bool is_crowd) {
  CrowdData labels;
  labels.classes.push_back({{"1", true}, "cell"});
  labels.images.push_back({{"1", true}, "a.png", 10, 10});
  labels.truth.push_back({{1, 1, 5, 5}, 0, 0, is_crowd, 16});
  labels.has_truth = true;
  labels.finalize();
  return labels;
}

TEST(LabelsDigest, ATrueBoxThatBecomesACrowdIsAnotherLabel) {
  EXPECT_NE(labels_digest(one_true_box(false)), labels_digest(one_true_box(true)));
  EXPECT_EQ(labels_digest(one_true_box(true)), labels_digest(one_true_box(true)));
}

TEST(LabelsDigest, LinesOfVersion01AreComparedInTheirOwnForm) {
  const std::string of_0_1 = "1 image, 1 class, 0 annotators, 1 box, digest 14628025417454868082";
  const CrowdData labels = one_true_box(false);
  EXPECT_EQ(labels_digest_like(of_0_1, labels), of_0_1);
  EXPECT_EQ(labels_digest_like(of_0_1, one_true_box(true)), of_0_1) << "it never looked";
  EXPECT_EQ(labels_digest_like(labels_digest(labels), labels), labels_digest(labels));
}

}  // namespace
}  // namespace bdc
