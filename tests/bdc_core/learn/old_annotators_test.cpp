// Annotators' files that version 0.1 wrote still open.

#include <gtest/gtest.h>

#include "bdc/learn/annotator_posteriors.h"

namespace {

class AnnotatorsOfVersion01 : public testing::TestWithParam<const char*> {};

TEST_P(AnnotatorsOfVersion01, AreReadWithAllThatTheySay) {
  const std::string profile = GetParam();
  const auto read =
      bdc::read_annotator_posteriors(std::string(BDC_TEST_DATA "/bdc_core/data/v0_1/annotators_") + profile + ".json");
  EXPECT_EQ(read.profile, profile);
  EXPECT_EQ(read.classes.size(), 3u);
  ASSERT_EQ(read.annotators.size(), 3u);
  for (const auto& annotator : read.annotators) {
    EXPECT_GT(annotator.annotations, 0);
    EXPECT_GT(annotator.box.count, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, AnnotatorsOfVersion01, testing::Values("absence_aware", "paper", "reference"));

}  // namespace
