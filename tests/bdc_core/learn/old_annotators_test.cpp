// Annotators' files that earlier versions wrote still open.

#include <gtest/gtest.h>

#include <string>

#include "bdc/learn/annotator_posteriors.h"

namespace {

struct OldFile {
  const char* version;
  const char* profile;
  bool knows_boxes = true;
};

class OldAnnotators : public testing::TestWithParam<OldFile> {};

TEST_P(OldAnnotators, AreReadWithAllThatTheySay) {
  const OldFile& file = GetParam();
  const auto read = bdc::read_annotator_posteriors(std::string(BDC_TEST_DATA "/bdc_core/data/") + file.version +
                                                   "/annotators_" + file.profile + ".json");
  EXPECT_EQ(read.profile, file.profile);
  EXPECT_EQ(read.classes.size(), 3u);
  ASSERT_EQ(read.annotators.size(), 3u);
  for (const auto& annotator : read.annotators) {
    EXPECT_GT(annotator.annotations, 0);
    EXPECT_EQ(annotator.box.count > 0, file.knows_boxes);
  }
}

INSTANTIATE_TEST_SUITE_P(Version01, OldAnnotators,
                         testing::Values(OldFile{"v0_1", "absence_aware"}, OldFile{"v0_1", "paper"},
                                         OldFile{"v0_1", "reference"}));
INSTANTIATE_TEST_SUITE_P(Version04, OldAnnotators,
                         testing::Values(OldFile{"v0_4", "absence_aware"}, OldFile{"v0_4", "paper"},
                                         OldFile{"v0_4", "reference"}, OldFile{"v0_4", "crowd_rcnn", false}));

}  // namespace
