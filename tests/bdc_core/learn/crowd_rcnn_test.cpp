#include "bdc/learn/crowd_rcnn/crowd_rcnn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "bdc/base/error.h"

namespace bdc {
namespace {

/// Images with one object each, drawn by all annotators; annotator k of J classes says (true + offset[k]) mod J.
CrowdData shifted_crowd(int images, int classes, const std::vector<int>& offset) {
  CrowdData crowd;
  for (int j = 0; j < classes; ++j) crowd.classes.push_back({{std::to_string(j), true}, "c" + std::to_string(j)});
  for (std::size_t k = 0; k < offset.size(); ++k) crowd.annotators.push_back({{std::to_string(k), true}, ""});
  for (int i = 0; i < images; ++i) {
    ImageRecord image;
    image.id = {std::to_string(i), true};
    image.width = image.height = 100;
    crowd.images.push_back(image);
    for (std::size_t k = 0; k < offset.size(); ++k) {
      const double shift = static_cast<double>(k);
      crowd.annotations.push_back(
          {{10 + shift, 10, 50 + shift, 40}, i, (i % classes + offset[k]) % classes, static_cast<std::int32_t>(k)});
    }
  }
  crowd.finalize();
  return crowd;
}

/// One detection on the object, with the given class probabilities.
struct Seen {
  explicit Seen(std::vector<double> classes, Box where = {11, 10, 51, 40}) : box{where}, probs(std::move(classes)) {}
  operator DetectedBoxes() const { return {{box.data(), 1}, {score.data(), 1}, {probs.data(), probs.size()}}; }
  std::vector<Box> box;
  std::vector<double> score{0.9};
  std::vector<double> probs;
};

TEST(CrowdRcnn, AnObjectIsTheMeanOfItsBoxes) {
  const CrowdData crowd = shifted_crowd(3, 2, {0, 0, 0});
  CrowdRcnn model(crowd, {});
  const Targets t = model.observe(1, {});
  ASSERT_EQ(t.box.size(), 1U);
  EXPECT_NEAR(t.box[0].x1, 11, 1e-12);
  EXPECT_NEAR(t.box[0].x2, 51, 1e-12);
  EXPECT_EQ(t.weight[0], 1);
  EXPECT_NEAR(t.class_probs[0] + t.class_probs[1], 1, 1e-12);
  EXPECT_EQ(t.label(0), 1);
}

TEST(CrowdRcnn, BoxesThatDoNotOverlapAreObjectsOfTheirOwn) {
  CrowdData crowd = shifted_crowd(2, 2, {0, 0});
  crowd.annotations.push_back({{70, 70, 90, 90}, 0, 1, 1});
  crowd.finalize();
  CrowdRcnn model(crowd, {});
  EXPECT_EQ(model.without_detector().begin[1], 2U);
  const Targets t = model.observe(0, {});
  EXPECT_GT(t.score[0], t.score[1]) << "one of two annotators drew the second";
}

TEST(CrowdRcnn, PosteriorIsTheProductOfPriorAndSensitivities) {
  const CrowdData crowd = shifted_crowd(9, 3, {0, 1});
  CrowdRcnn model(crowd, {});
  const Seen seen({0.5, 0.3, 0.2});
  const Targets t = model.observe(4, seen);  // class 1, called 1 and 2
  double expected[3], sum = 0;
  for (std::size_t j = 0; j < 3; ++j) {
    expected[j] = seen.probs[j] * model.sensitivity(0, j, 1) * model.sensitivity(1, j, 2);
    sum += expected[j];
  }
  for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(t.class_probs[j], expected[j] / sum, 1e-12);
}

TEST(CrowdRcnn, SensitivitiesOfAClassSumToOne) {
  const CrowdData crowd = shifted_crowd(20, 4, {0, 2, 1});
  CrowdRcnn model(crowd, {});
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t j = 0; j < 4; ++j) {
      double sum = 0;
      for (std::int32_t l = 0; l < 4; ++l) sum += model.sensitivity(k, j, l);
      EXPECT_NEAR(sum, 1, 1e-9);
    }
  }
}

TEST(CrowdRcnn, ADetectorThatKnowsTheClassesUnmasksAnAnnotatorWhoConfusesThem) {
  // Two annotators who call every class by the next one's name would outvote the third; the detector decides.
  const CrowdData crowd = shifted_crowd(60, 3, {1, 1, 0});
  CrowdRcnn model(crowd, {});
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (std::size_t i = 0; i < 60; ++i) {
      std::vector<double> classes(3, 0.01);
      classes[i % 3] = 0.98;
      (void)model.observe(i, Seen(classes));
    }
    model.finish_epoch();
  }
  EXPECT_GT(model.sensitivity(0, 0, 1), 0.6);
  EXPECT_GT(model.sensitivity(2, 0, 0), 0.6);
  EXPECT_EQ(model.observe(0, {}).label(0), 0) << "now also without the detector";
}

TEST(CrowdRcnn, ADetectionElsewhereSaysNothing) {
  const CrowdData crowd = shifted_crowd(6, 2, {0, 0});
  CrowdRcnn model(crowd, {});
  const Targets alone = model.observe(0, {}), far = model.observe(0, Seen({0.01, 0.99}, {60, 60, 90, 90}));
  EXPECT_EQ(alone.class_probs, far.class_probs);
}

TEST(CrowdRcnn, AResumedRunGivesTheSameBits) {
  const CrowdData crowd = shifted_crowd(30, 3, {0, 1, 0, 2});
  CrowdRcnn whole(crowd, {});
  const auto step = [&](CrowdRcnn& model, std::size_t i) {
    return model.observe(i, Seen({0.2 + 0.01 * static_cast<double>(i), 0.3, 0.5 - 0.01 * static_cast<double>(i)}));
  };
  for (std::size_t i = 0; i < 17; ++i) (void)step(whole, i);  // half an epoch
  CrowdRcnn other(crowd, {});
  other.load(whole.save());
  for (std::size_t i = 17; i < 30; ++i) EXPECT_EQ(step(whole, i).class_probs, step(other, i).class_probs);
  whole.finish_epoch();
  other.finish_epoch();
  EXPECT_EQ(whole.save(), other.save());
  EXPECT_EQ(whole.without_detector().class_probs, other.without_detector().class_probs);
}

TEST(CrowdRcnn, AStateOfAnotherCrowdIsRefused) {
  const CrowdData a = shifted_crowd(5, 3, {0, 1}), b = shifted_crowd(5, 3, {0, 1, 2});
  CrowdRcnn one(a, {}), two(b, {});
  EXPECT_THROW(two.load(one.save()), std::invalid_argument);
  EXPECT_THROW(one.load(""), std::invalid_argument);
  EXPECT_THROW(one.load(one.save() + "x"), std::invalid_argument);
}

TEST(CrowdRcnn, MemoryGrowsWithAnnotationsNotWithAnnotatorsTimesClasses) {
  // 1,000 annotators, 200 annotations, 50 classes: columns for what was given and nothing else.
  CrowdData crowd = shifted_crowd(1, 50, {0});
  for (int k = 1; k < 1000; ++k) crowd.annotators.push_back({{std::to_string(k), true}, ""});
  for (int n = 0; n < 199; ++n) crowd.annotations.push_back({{10, 10, 50, 40}, 0, n % 50, 1 + n});
  crowd.finalize();
  CrowdRcnn model(crowd, {});
  EXPECT_LE(model.posteriors().confusion.value.size(), 200U * 50U);
  const Targets t = model.without_detector();
  for (const double p : t.class_probs) EXPECT_TRUE(std::isfinite(p));
}

TEST(CrowdRcnn, NoAnnotationsIsAnError) {
  CrowdData crowd = shifted_crowd(1, 2, {0});
  crowd.annotations.clear();
  crowd.finalize();
  EXPECT_THROW(CrowdRcnn(crowd, {}), DataError);
}

}  // namespace
}  // namespace bdc
