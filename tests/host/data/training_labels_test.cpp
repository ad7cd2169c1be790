// What is said of labels before a detector is trained on them.

#include "data/training_labels.h"

#include <gtest/gtest.h>

#include "bdc/base/error.h"

namespace bdc::host {
namespace {

/// Three images of 100 x 50 with true boxes of two classes.
CrowdData labels_with(std::vector<TruthBox> truth) {
  CrowdData out;
  out.classes = {{{"1", true}, "cat"}, {{"2", true}, "dog"}};
  for (const char* id : {"1", "2", "3"}) out.images.push_back({{id, true}, "", 100, 50});
  out.truth = std::move(truth);
  out.has_truth = true;
  out.finalize();
  return out;
}

std::string error_of(const CrowdData& labels) {
  try {
    (void)check_training_labels(labels, 100);
  } catch (const DataError& e) {
    return e.what();
  }
  return "no error";
}

const Box kGood{10, 10, 30, 30};

TEST(TrainingLabels, WholeLabelsAreTakenInSilence) {
  const auto labels = labels_with({{kGood, 0, 0, false, 400}, {kGood, 1, 1, false, 400}, {kGood, 2, 0, false, 400}});
  EXPECT_TRUE(check_training_labels(labels, 100).empty());
}

TEST(TrainingLabels, BoxesThatNoTargetComesOfAreCounted) {
  const auto labels = labels_with({{kGood, 0, 0, false, 400},
                                   {{5, 5, 5, 9}, 0, 0, false, 0},
                                   {{7, 7, 7, 7}, 1, 0, false, 0},
                                   {{200, 10, 300, 30}, 1, 0, false, 2000},
                                   {{10, 10, 11, 11}, 1, 1, false, 1},
                                   {kGood, 2, 0, true, 400}});
  const auto said = check_training_labels(labels, 100);
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(
      said[0],
      "4 of 5 boxes are left out: 2 without area, 1 outside the image, 1 too small or too far outside in an input "
      "of 100 pixels");
  EXPECT_EQ(said[1], "2 of 3 training images have no box; the detector learns that nothing is there");
  EXPECT_EQ(said[2], "1 of 2 classes have no box to learn from: dog");
}

TEST(TrainingLabels, NothingToLearnIsAnError) {
  EXPECT_EQ(error_of(labels_with({}))
                .rfind("the training labels hold no box that can be trained on in 3 images (there "
                       "are none), so nothing can be learnt",
                       0),
            0u)
      << error_of(labels_with({}));
  const std::string empty = error_of(labels_with({{{5, 5, 5, 9}, 0, 0, false, 0}}));
  EXPECT_NE(empty.find("(found 1 without area)"), std::string::npos) << empty;
  CrowdData no_classes;
  no_classes.images.push_back({{"1", true}, "", 100, 50});
  no_classes.finalize();
  EXPECT_EQ(error_of(no_classes), "the training labels list no classes, so nothing can be learnt");
}

TEST(TrainingLabels, OfACrowdTheAnnotatorsBoxesCountAndNotTheTruth) {
  CrowdData labels = labels_with({{kGood, 0, 0, false, 400}, {kGood, 1, 1, false, 400}});
  labels.annotators = {{{"ann", false}, ""}, {{"bob", false}, ""}};
  EXPECT_NE(error_of(labels).find("hold no box that can be trained on"), std::string::npos);
  labels.annotations = {{kGood, 0, 0, 0}, {kGood, 0, 1, 1}};
  labels.assignments = {{1, 0}};
  labels.finalize();
  const auto said = check_training_labels(labels, 100);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0],
            "2 of 3 training images have no box; the detector learns that nothing is there (1 of them no annotator is "
            "known to have seen)");
}

}  // namespace
}  // namespace bdc::host
