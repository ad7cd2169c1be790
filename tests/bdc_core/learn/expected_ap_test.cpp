#include "bdc/learn/judge/expected_ap.h"

#include <gtest/gtest.h>

#include "bdc/base/error.h"
#include "bdc/learn/learners.h"
#include "bdc/metrics/aggregation_ap.h"
#include "support/random_crowd.h"

namespace bdc {
namespace {

/// `images` images with an object each, classes in turn.
struct Scene {
  CrowdData crowd;
  Targets targets;
  std::vector<double> unseen;
  std::vector<CocoDetection> detections;

  Scene(std::size_t images, double existence, double deviation, double unseen_each) : unseen(images, unseen_each) {
    crowd.classes.resize(2);
    targets.num_classes = 2;
    targets.begin.push_back(0);
    for (std::size_t i = 0; i < images; ++i) {
      ImageRecord record;
      record.id = {std::to_string(i), true};
      record.width = record.height = 200;
      crowd.images.push_back(record);
      const std::size_t label = i % 2;
      targets.box.push_back({50, 60, 110, 120});
      targets.class_probs.insert(targets.class_probs.end(), {label == 0 ? 1.0 : 0.0, label == 1 ? 1.0 : 0.0});
      for (auto* list : {&targets.weight, &targets.score, &targets.existence}) list->push_back(existence);
      targets.box_std.push_back({deviation, deviation, deviation, deviation});
      targets.begin.push_back(i + 1);
      detections.push_back({{50, 60, 60, 60}, 0.5, static_cast<std::int32_t>(i), static_cast<std::int32_t>(label)});
    }
    crowd.finalize();
  }
  [[nodiscard]] ExpectedAp judge(int threads = 0) const {
    ExpectedApSettings settings;
    settings.threads = threads;
    return TruthDraws(crowd, targets, unseen, settings).judge(detections);
  }
};

TEST(TruthDraws, WhatIsCertainIsItsOwnTruth) {
  const ExpectedAp e = Scene(20, 1, 0, 0).judge();
  EXPECT_NEAR(e.ap.mean, 1, 1e-12);
  EXPECT_NEAR(e.ap.low, 1, 1e-12);
  EXPECT_EQ(e.draws, 0);
  EXPECT_EQ(e.existence, 0);
}

TEST(TruthDraws, DoubtfulObjectsLooseBoxesAndUnseenObjectsCostAp) {
  const ExpectedAp half = Scene(200, 0.5, 0, 0).judge(), loose = Scene(200, 1, 6, 0).judge(),
                   missed = Scene(200, 1, 0, 1).judge();
  EXPECT_NEAR(half.ap.mean, 0.5, 0.12) << "equal scores: precision is the share that exists";
  EXPECT_GT(half.existence, 0.1);
  EXPECT_EQ(half.boxes, 0);
  EXPECT_LT(loose.ap.mean, 0.8);
  EXPECT_GT(loose.boxes, 0.05);
  EXPECT_NEAR(missed.ap.mean, 0.5, 0.06) << "half of the objects are found";
  for (const ExpectedAp& e : {half, loose, missed}) {
    EXPECT_LE(e.ap.low, e.ap.mean);
    EXPECT_GE(e.ap.high, e.ap.mean);
    EXPECT_GE(e.ap50.mean, e.ap.mean - 1e-12);
  }
}

TEST(TruthDraws, TheSameBitsForAnyNumberOfThreads) {
  const Scene scene(50, 0.8, 3, 0.2);
  const ExpectedAp one = scene.judge(1), three = scene.judge(3);
  EXPECT_EQ(one.ap.mean, three.ap.mean);
  EXPECT_EQ(one.ap.low, three.ap.low);
}

TEST(JudgeDetector, NeedsAnnotatorsAndLooksAtNoTruth) {
  RandomCrowd random(3, 60, 5, 3);
  random.crowd.finalize();
  std::vector<CocoDetection> detections;
  const auto rank = rank_by_id(random.crowd.images);
  const Predictions& p = random.predictions;
  for (std::size_t i = 0; i + 1 < p.begin.size(); ++i) {
    for (std::size_t n = p.begin[i]; n < p.begin[i + 1]; ++n) {
      detections.push_back({{p.box[n].x1, p.box[n].y1, p.box[n].width(), p.box[n].height()}, p.score[n], rank[i], 0});
    }
  }
  ExpectedApSettings settings;
  settings.trials = 1;
  const Judgement with = judge_detector(random.crowd, p, detections, settings);
  CrowdData blind = random.crowd;
  blind.truth.clear();
  blind.has_truth = false;
  blind.truth_covers.clear();
  blind.finalize();
  const Judgement without = judge_detector(blind, p, detections, settings);
  EXPECT_EQ(with.expected.ap.mean, without.expected.ap.mean);
  EXPECT_EQ(with.ceilings.consensus, without.ceilings.consensus);
  EXPECT_GE(with.ceilings.consensus, with.ceilings.one_annotator);
  blind.annotators.clear();
  blind.annotations.clear();
  blind.assignments.clear();
  blind.finalize();
  EXPECT_THROW((void)judge_detector(blind, p, detections, settings), DataError);
}

}  // namespace
}  // namespace bdc
