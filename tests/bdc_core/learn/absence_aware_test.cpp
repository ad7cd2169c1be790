#include "bdc/learn/bdc/absence_aware.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "bdc/base/error.h"
#include "bdc/metrics/calibration.h"

namespace {

using bdc::AbsenceAwareOptions;
using bdc::AbsenceAwareResult;
using bdc::AbsenceAwareUpdate;
using bdc::Box;
using bdc::CrowdData;
using bdc::Predictions;

CrowdData empty_crowd(std::size_t images, std::size_t annotators, std::size_t classes) {
  CrowdData crowd;
  crowd.images.resize(images);
  crowd.annotators.resize(annotators);
  crowd.classes.resize(classes);
  for (std::size_t i = 0; i < images; ++i) {
    crowd.images[i].id = {std::to_string(i), true};
    crowd.images[i].width = 640;
    crowd.images[i].height = 480;
  }
  for (std::size_t k = 0; k < annotators; ++k) crowd.annotators[k].id = {std::to_string(k), true};
  for (std::size_t j = 0; j < classes; ++j) crowd.classes[j].id = {std::to_string(j), true};
  crowd.assignments_known = true;
  return crowd;
}

struct Skill {
  double right = 0.8, recall = 0.9, noise = 0.05, spurious = 0.2, bias = 0.0;
  std::int32_t habit = 0;  ///< wrong labels are of the class so many further on; 0: of any class
};

struct Scene {
  CrowdData crowd;  // with truth
  Predictions predictions;
};

/// A random crowd: scenes of a few objects, everyone sees an image with probability `coverage`.
Scene make_scene(unsigned seed, std::size_t images, std::size_t classes, const std::vector<Skill>& skills,
                 double coverage) {
  std::mt19937 rng(seed);
  const auto uniform = [&](double a, double b) { return std::uniform_real_distribution<double>(a, b)(rng); };
  const auto normal = [&](double sd) { return std::normal_distribution<double>(0, sd)(rng); };
  const auto any_class = [&] {
    return static_cast<std::int32_t>(std::uniform_int_distribution<std::size_t>(0, classes - 1)(rng));
  };
  const auto any_box = [&] {
    const double w = uniform(20, 250), h = uniform(20, 250), x = uniform(0, 640 - w), y = uniform(0, 480 - h);
    return Box{x, y, x + w, y + h};
  };
  const auto drawn = [&](const Box& b, const Skill& s) {
    const double w = b.width(), h = b.height();
    Box d{b.x1 + w * (s.bias + normal(s.noise)), b.y1 + h * normal(s.noise), b.x2 + w * (s.bias + normal(s.noise)),
          b.y2 + h * normal(s.noise)};
    if (d.x2 - d.x1 < 2) d.x2 = d.x1 + 2;
    if (d.y2 - d.y1 < 2) d.y2 = d.y1 + 2;
    return d;
  };
  Scene scene{empty_crowd(images, skills.size(), classes), {}};
  Predictions& p = scene.predictions;
  p.num_classes = static_cast<int>(classes);
  p.begin.push_back(0);
  const auto predict = [&](const Box& box, std::int32_t label, double score) {
    p.box.push_back(box);
    p.score.push_back(score);
    const double rest = classes > 1 ? (1 - score) / static_cast<double>(classes - 1) : 0;
    for (std::size_t j = 0; j < classes; ++j) {
      p.class_probs.push_back(classes == 1 ? 1.0 : static_cast<std::size_t>(label) == j ? score : rest);
    }
  };
  for (std::size_t i = 0; i < images; ++i) {
    const auto image = static_cast<std::int32_t>(i);
    std::vector<bdc::TruthBox> truth;
    for (int n = std::poisson_distribution<int>(2.0)(rng); n > 0; --n) truth.push_back({any_box(), image, any_class()});
    scene.crowd.truth.insert(scene.crowd.truth.end(), truth.begin(), truth.end());
    for (std::size_t k = 0; k < skills.size(); ++k) {
      if (uniform(0, 1) >= coverage) continue;
      const auto annotator = static_cast<std::int32_t>(k);
      scene.crowd.assignments.push_back({image, annotator});
      for (const bdc::TruthBox& t : truth) {
        if (uniform(0, 1) >= skills[k].recall) continue;
        const bool right = uniform(0, 1) < skills[k].right;
        const auto J = static_cast<std::int32_t>(classes);
        const std::int32_t label = right                  ? t.label
                                   : skills[k].habit == 0 ? any_class()
                                                          : (t.label + skills[k].habit) % J;
        scene.crowd.annotations.push_back({drawn(t.box, skills[k]), image, label, annotator});
      }
      if (uniform(0, 1) < skills[k].spurious) {
        scene.crowd.annotations.push_back({any_box(), image, any_class(), annotator});
      }
    }
    for (const bdc::TruthBox& t : truth) {
      if (uniform(0, 1) < 0.9) predict(drawn(t.box, Skill{}), t.label, uniform(0.6, 1.0));
    }
    if (uniform(0, 1) < 0.4) predict(any_box(), any_class(), uniform(0.2, 0.6));
    p.begin.push_back(p.box.size());
  }
  scene.crowd.has_truth = true;
  scene.crowd.finalize();
  return scene;
}

std::vector<Skill> random_skills(unsigned seed, std::size_t annotators) {
  std::mt19937 rng(seed + 1000);
  const auto uniform = [&](double a, double b) { return std::uniform_real_distribution<double>(a, b)(rng); };
  std::vector<Skill> skills(annotators);
  for (Skill& s : skills) {
    s = {uniform(0.1, 1.0), uniform(0.3, 1.0), std::exp(uniform(std::log(0.01), std::log(0.5))), uniform(0, 1.5),
         uniform(-0.1, 0.1)};
  }
  return skills;
}

void expect_sane(const AbsenceAwareResult& r, std::size_t images) {
  const auto& t = r.targets;
  const std::size_t n = t.box.size(), J = static_cast<std::size_t>(t.num_classes);
  ASSERT_EQ(t.begin.size(), images + 1);
  EXPECT_EQ(t.begin.back(), n);
  ASSERT_EQ(t.class_probs.size(), n * J);
  ASSERT_EQ(t.existence.size(), n);
  ASSERT_EQ(t.box_std.size(), n);
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_TRUE(t.box[i].valid());
    EXPECT_GE(t.existence[i], 0);
    EXPECT_LE(t.existence[i], 1);
    EXPECT_EQ(t.weight[i], t.existence[i]);
    EXPECT_GE(t.score[i], 0);
    EXPECT_LE(t.score[i], t.existence[i]);
    const auto row = t.class_probs.begin() + static_cast<std::ptrdiff_t>(i * J);
    EXPECT_NEAR(std::accumulate(row, row + static_cast<std::ptrdiff_t>(J), 0.0), 1.0, 1e-12);
    for (const double sd : t.box_std[i]) {
      EXPECT_GT(sd, 0);
      EXPECT_TRUE(std::isfinite(sd));
    }
  }
}

void expect_same_bits(const AbsenceAwareResult& a, const AbsenceAwareResult& b) {
  EXPECT_EQ(a.bound, b.bound);
  EXPECT_EQ(a.targets.box, b.targets.box);
  EXPECT_EQ(a.targets.class_probs, b.targets.class_probs);
  EXPECT_EQ(a.targets.existence, b.targets.existence);
  EXPECT_EQ(a.targets.box_std, b.targets.box_std);
  EXPECT_EQ(a.targets.score, b.targets.score);
  EXPECT_EQ(a.beliefs.log_confusion.value, b.beliefs.log_confusion.value);
}

class RandomCrowds : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomCrowds, NoUpdateLowersTheBound) {
  const unsigned seed = GetParam();
  const std::size_t classes = 1 + seed % 7, annotators = 1 + seed % 9, images = 5 + 7 * (seed % 5);
  Scene scene = make_scene(seed, images, classes, random_skills(seed, annotators), seed % 3 == 0 ? 0.5 : 1.0);
  if (seed % 4 == 1) {  // nobody said who saw what
    scene.crowd.assignments.clear();
    scene.crowd.assignments_known = false;
    scene.crowd.finalize();
  }
  const Predictions* predictions = seed % 2 == 0 ? &scene.predictions : nullptr;
  AbsenceAwareOptions options;
  options.max_rounds = 15;
  options.tolerance = 0;
  options.threads = 1;
  double last = -std::numeric_limits<double>::infinity();
  std::set<AbsenceAwareUpdate> updates;
  options.observer = [&](AbsenceAwareUpdate update, double bound) {
    updates.insert(update);
    ASSERT_TRUE(std::isfinite(bound));
    // Who errs alike is found once; from then on a weighted likelihood is bounded, another quantity.
    if (update == AbsenceAwareUpdate::dependence) last = -std::numeric_limits<double>::infinity();
    EXPECT_GE(bound, last - 1e-9 * std::abs(bound)) << "update " << static_cast<int>(update) << ", seed " << seed;
    last = bound;
  };
  const AbsenceAwareResult result = run_absence_aware(scene.crowd, predictions, options);
  updates.erase(AbsenceAwareUpdate::dependence);
  EXPECT_EQ(updates.size(), 5U);
  EXPECT_GT(result.bound.back(), result.bound.front());
  expect_sane(result, images);

  // The same with what was counted here as evidence from before.
  options.prior_evidence = &result.evidence;
  options.priors = &result.beliefs.priors;
  options.max_rounds = 5;
  last = -std::numeric_limits<double>::infinity();
  expect_sane(run_absence_aware(scene.crowd, predictions, options), images);
}

INSTANTIATE_TEST_SUITE_P(AbsenceAware, RandomCrowds, ::testing::Range(0U, 50U));

TEST(WrongShares, AreTheSameNumbersHeldDenseAndSparse) {
  const std::vector<double> dense{0, 0.25, 0.5, 0.75, 0, 0.5, 0.25, 0.75, 0};
  const bdc::WrongShares sparse = bdc::WrongShares::from_dense(dense);
  EXPECT_EQ(sparse.share, (std::vector<double>{0.75, 0.75}));  // the rest are floors
  EXPECT_EQ(sparse.dense(), dense);
  EXPECT_EQ(bdc::WrongShares::even(3).dense(), (std::vector<double>{0, 0.5, 0.5, 0.5, 0, 0.5, 0.5, 0.5, 0}));
  EXPECT_EQ(bdc::WrongShares::from_dense({0}).dense(), std::vector<double>{0});
}

TEST(WrongShares, OfAFitSumToOneAndFollowTheLabelsInsteadOfTheClasses) {
  const std::size_t J = 400;
  const Scene scene = make_scene(3, 30, J, random_skills(3, 4), 1.0);
  const AbsenceAwareResult r = run_absence_aware(scene.crowd, nullptr, {});
  const bdc::WrongShares& shares = r.beliefs.priors.wrong_share;
  EXPECT_GT(shares.share.size(), 0U);
  EXPECT_LE(shares.share.size(), 20 * scene.crowd.annotations.size());
  const std::vector<double> dense = shares.dense();
  for (std::size_t j = 0; j < J; ++j) {
    double sum = 0;
    for (std::size_t l = 0; l < J; ++l) sum += dense[l * J + j];
    EXPECT_NEAR(sum, 1, 1e-9);
  }
  // The result's expectations are whole: also entries that no image asked for have what the prior says.
  const bdc::ConfusionColumns& log_confusion = r.beliefs.log_confusion;
  for (std::size_t k = 0; k < log_confusion.num_annotators(); ++k) {
    std::map<std::size_t, double> of_floor;  // by true class
    for (std::size_t c = log_confusion.begin[k]; c < log_confusion.begin[k + 1]; ++c) {
      const auto l = static_cast<std::size_t>(log_confusion.label[c]);
      for (std::size_t j = 0; j < J; ++j) {
        if (j == l || dense[l * J + j] != shares.floor[j]) continue;
        const double value = log_confusion.value[c * J + j];
        EXPECT_EQ(of_floor.emplace(j, value).first->second, value);
      }
    }
  }
}

class ManyClasses : public ::testing::TestWithParam<unsigned> {};

TEST_P(ManyClasses, NoUpdateLowersTheBoundAndThreadsDoNotShow) {
  const unsigned seed = GetParam();
  const std::size_t classes = 33 + 40 * (seed % 4), images = 12 + 6 * (seed % 3);
  const Scene scene = make_scene(seed, images, classes, random_skills(seed, 3 + seed % 5), seed % 3 == 0 ? 0.5 : 1.0);
  const Predictions* predictions = seed % 2 == 0 ? &scene.predictions : nullptr;
  AbsenceAwareOptions options;
  options.max_rounds = 8;
  options.tolerance = 0;
  options.threads = 1;
  double last = -std::numeric_limits<double>::infinity();
  options.observer = [&](AbsenceAwareUpdate update, double bound) {
    if (update == AbsenceAwareUpdate::dependence) last = -std::numeric_limits<double>::infinity();
    EXPECT_GE(bound, last - 1e-9 * std::abs(bound)) << "update " << static_cast<int>(update) << ", seed " << seed;
    last = bound;
  };
  const AbsenceAwareResult one = run_absence_aware(scene.crowd, predictions, options);
  expect_sane(one, images);
  options.observer = nullptr;
  options.threads = 3;
  const AbsenceAwareResult three = run_absence_aware(scene.crowd, predictions, options);
  EXPECT_EQ(one.bound, three.bound);
  EXPECT_EQ(one.targets.class_probs, three.targets.class_probs);
  EXPECT_EQ(one.evidence.confusion.value, three.evidence.confusion.value);
}

INSTANTIATE_TEST_SUITE_P(AbsenceAware, ManyClasses, ::testing::Range(0U, 12U));

/// Annotators 0, 1, ... draw the same objects in image 0, each a little further right than the one before.
CrowdData crowd_of_objects(std::int32_t annotators, const std::vector<Box>& objects) {
  CrowdData crowd = empty_crowd(1, static_cast<std::size_t>(annotators), 2);
  crowd.images[0].width = crowd.images[0].height = 20000;
  for (std::int32_t k = 0; k < annotators; ++k) {
    for (const Box& object : objects) {
      bdc::Annotation a;
      a.box = {object.x1 + 0.1 * k, object.y1, object.x2 + 0.1 * k, object.y2};
      a.annotator = k;
      a.label = object.x1 < 3000 ? 0 : 1;
      crowd.annotations.push_back(a);
    }
  }
  crowd.finalize();
  return crowd;
}

TEST(AbsenceAware, OfHundredsOfOverlappingBoxesTheNearestAreTriedTogether) {
  std::vector<Box> objects;
  for (int n = 0; n < 60; ++n) objects.push_back({100.0 + 12 * n, 100.0 + 9 * n, 1100.0 + 12 * n, 1100.0 + 9 * n});
  const auto overlap = [](const Box& a, const std::vector<Box>& others) {
    double best = 0;
    for (const Box& other : others) best = std::max(best, bdc::iou(a, other));
    return best;
  };
  AbsenceAwareOptions options;
  options.threads = 1;
  const AbsenceAwareResult result = run_absence_aware(crowd_of_objects(8, objects), nullptr, options);
  EXPECT_LT(result.targets.box.size(), 65U);  // not a target for every box that was cut off
  for (const Box& object : objects) EXPECT_GT(overlap(object, result.targets.box), 0.99);
}

TEST(AbsenceAware, MoreBoxesInOneImageThanSixteenBitsNumberAreTiedToTheirObjects) {
  std::vector<Box> objects;
  for (int x = 0; x < 182; ++x) {
    for (int y = 0; y < 182; ++y) objects.push_back({100.0 * x, 100.0 * y, 100.0 * x + 60, 100.0 * y + 60});
  }
  AbsenceAwareOptions options;
  options.threads = 1;
  options.max_rounds = 1;
  const AbsenceAwareResult result = run_absence_aware(crowd_of_objects(2, objects), nullptr, options);
  ASSERT_EQ(result.targets.box.size(), objects.size());
  for (const double existence : result.targets.existence) EXPECT_GT(existence, 0.9);
}

TEST(AbsenceAware, OfManyClassesOnlyThoseThatSomebodyGaveToAnOverlappingBoxAreProbable) {
  CrowdData crowd = empty_crowd(2, 3, 500);
  const auto draw = [&](std::int32_t image, std::int32_t annotator, std::int32_t label, double x) {
    bdc::Annotation a;
    a.box = {x, 100, x + 80, 180};
    a.image = image;
    a.annotator = annotator;
    a.label = label;
    crowd.annotations.push_back(a);
  };
  for (std::int32_t image = 0; image < 2; ++image) {
    for (std::int32_t k = 0; k < 3; ++k) {
      draw(image, k, k == 2 ? 401 : 400, 100 + k);
      draw(image, k, 7, 400 + k);
    }
  }
  crowd.finalize();
  const AbsenceAwareResult r = run_absence_aware(crowd, nullptr);
  ASSERT_EQ(r.targets.box.size(), 4U);
  for (std::size_t n = 0; n < 4; ++n) {
    const bool left = r.targets.box[n].x1 < 300;
    EXPECT_EQ(r.targets.label(n), left ? 400 : 7);
    for (std::size_t j = 0; j < 500; ++j) {
      const bool given = left ? j == 400 || j == 401 : j == 7;
      EXPECT_EQ(r.targets.class_prob(n, j) > 0, given) << j;
    }
  }
}

TEST(AbsenceAware, FindsTheObjectsTheirClassesAndTheirBoxes) {
  const Scene scene = make_scene(3, 200, 5, std::vector<Skill>(7), 1.0);
  const AbsenceAwareResult r = run_absence_aware(scene.crowd, nullptr);
  EXPECT_TRUE(r.converged);
  std::size_t found = 0, right = 0;
  double iou_sum = 0, existence_of_found = 0, existence_of_others = 0;
  std::vector<char> used(r.targets.box.size(), 0);
  for (const bdc::TruthBox& t : scene.crowd.truth) {
    const auto image = static_cast<std::size_t>(t.image);
    std::size_t best = r.targets.begin[image + 1];
    double best_iou = 0.5;
    for (std::size_t n = r.targets.begin[image]; n < r.targets.begin[image + 1]; ++n) {
      if (used[n] != 0 || iou(r.targets.box[n], t.box) <= best_iou) continue;
      best_iou = iou(r.targets.box[n], t.box);
      best = n;
    }
    if (best == r.targets.begin[image + 1]) continue;
    used[best] = 1;
    ++found;
    iou_sum += best_iou;
    existence_of_found += r.targets.existence[best];
    const auto row = r.targets.class_probs.begin() + static_cast<std::ptrdiff_t>(best * 5);
    right += std::max_element(row, row + 5) - row == t.label ? 1 : 0;
  }
  std::size_t others = 0;
  for (std::size_t n = 0; n < used.size(); ++n) {
    if (used[n] != 0) continue;
    ++others;
    existence_of_others += r.targets.existence[n];
  }
  const auto share = [](double part, std::size_t whole) { return part / static_cast<double>(whole); };
  EXPECT_GT(share(static_cast<double>(found), scene.crowd.truth.size()), 0.97);
  EXPECT_GT(share(static_cast<double>(right), found), 0.97);
  EXPECT_GT(share(iou_sum, found), 0.9);
  EXPECT_GT(share(existence_of_found, found), 0.98);
  if (others > 0) {
    EXPECT_LT(share(existence_of_others, others), 0.3);
  }
}

TEST(AbsenceAware, BoxDeviationsAreOfTheSizeOfTheErrors) {
  const Scene scene = make_scene(5, 300, 1, std::vector<Skill>(6), 1.0);
  const AbsenceAwareResult r = run_absence_aware(scene.crowd, nullptr);
  double square = 0, count = 0;
  for (const bdc::TruthBox& t : scene.crowd.truth) {
    const auto image = static_cast<std::size_t>(t.image);
    for (std::size_t n = r.targets.begin[image]; n < r.targets.begin[image + 1]; ++n) {
      const Box& b = r.targets.box[n];
      if (iou(b, t.box) < 0.7 || b.x1 < 1 || b.x2 > 639) continue;
      const double z = (b.x1 - t.box.x1) / r.targets.box_std[n][0];
      square += z * z;
      count += 1;
    }
  }
  ASSERT_GT(count, 300);
  EXPECT_GT(square / count, 0.6);
  EXPECT_LT(square / count, 1.6);
}

TEST(AbsenceAware, LearnsWhatWasPlantedOfEveryAnnotator) {
  std::vector<Skill> skills(6);
  skills[1].noise = 0.15;
  skills[2].recall = 0.5;
  skills[3].spurious = 0.9;
  skills[4].right = 0.2;
  skills[5].bias = 0.1;
  const Scene scene = make_scene(7, 600, 4, skills, 1.0);
  const AbsenceAwareResult r = run_absence_aware(scene.crowd, nullptr);
  const auto& s = r.beliefs.source;
  const auto noise = [&](std::size_t k) {  // in box sizes, for a box of the reference size
    return 1 / std::sqrt(s[k].precision[1]);
  };
  EXPECT_NEAR(noise(0), 0.05, 0.015);
  EXPECT_NEAR(noise(1), 0.15, 0.04);
  EXPECT_NEAR(s[0].mean_recall(), 0.9, 0.04);
  EXPECT_NEAR(s[2].mean_recall(), 0.5, 0.05);
  EXPECT_NEAR(s[0].mean_spurious(), 0.2, 0.08);
  EXPECT_NEAR(s[3].mean_spurious(), 0.9, 0.12);
  EXPECT_NEAR(s[5].bias[0] - s[0].bias[0], 0.1, 0.025);
  EXPECT_NEAR(s[5].bias[1] - s[0].bias[1], 0.0, 0.02);
  EXPECT_GT(s[0].right_strength / s[0].wrong_strength, 2 * s[4].right_strength / s[4].wrong_strength);
}

/// A label helps to decide the class of its object; were what is believed of its giver drawn from that very label too,
/// it would count twice.
TEST(AbsenceAware, ClassesAreAsSureAsTheyAreRightWhereEverybodyGaveFewLabels) {
  double confidence = 0, correct = 0;
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    std::vector<Skill> skills(20);
    for (std::size_t k = 0; k < skills.size(); ++k) {
      skills[k].right = k < 3 ? 0.75 : 0.35;
      skills[k].habit = static_cast<std::int32_t>(1 + k % 9);
    }
    const Scene scene = make_scene(seed, 100, 10, skills, 0.3);
    const bdc::Calibration classes =
        calibrate_targets(run_absence_aware(scene.crowd, nullptr).targets, scene.crowd).classes;
    confidence += classes.mean_confidence() / 4;
    correct += classes.share_correct() / 4;
  }
  EXPECT_GT(correct, 0.5);
  EXPECT_NEAR(confidence, correct, 0.02);
}

TEST(AbsenceAware, ABoxThatNobodyElseDrewTeachesNothingOfItsDrawersErrors) {
  CrowdData crowd = empty_crowd(40, 3, 2);
  const auto draw = [&](std::size_t image, int annotator, double x) {
    crowd.annotations.push_back({Box{x, 20, x + 40, 60}, static_cast<std::int32_t>(image), 0, annotator});
    crowd.assignments.push_back({static_cast<std::int32_t>(image), annotator});
  };
  for (std::size_t i = 0; i < 40; ++i) {
    draw(i, 0, 10), draw(i, 1, 12);
    draw(i, 2, 200);  // far from what the others see
  }
  crowd.finalize();
  const AbsenceAwareResult r = run_absence_aware(crowd, nullptr);
  EXPECT_GT(r.evidence.source[0].boxes, 30);
  EXPECT_EQ(r.evidence.source[2].boxes, 0);
  EXPECT_EQ(r.evidence.source[2].loose, 0) << "nobody says that its boxes are off";
}

TEST(AbsenceAware, ABoxFarFromWhatTheOthersDrewIsLooseThoughItPullsTheConsensus) {
  CrowdData crowd = empty_crowd(60, 3, 1);
  std::mt19937 random(3);
  std::normal_distribution<double> off(0, 3);
  for (std::size_t i = 0; i < 60; ++i) {
    for (int k = 0; k < 3; ++k) {
      const double shift = k == 2 && i % 2 == 0 ? 26 : 0;  // IoU of about 0.35 with boxes of width 55
      const double x = 40 + shift + off(random), y = 40 + off(random);
      crowd.annotations.push_back({Box{x, y, x + 55, y + 55}, static_cast<std::int32_t>(i), 0, k});
      crowd.assignments.push_back({static_cast<std::int32_t>(i), k});
    }
  }
  crowd.finalize();
  const AbsenceAwareResult r = run_absence_aware(crowd, nullptr);
  const auto& s = r.evidence.source;
  EXPECT_LT(s[0].loose, 3);
  EXPECT_GT(s[2].loose + s[2].missed, 20) << "every second box is somewhere else";
}

TEST(AbsenceAware, WhereTwoDisagreeOfAnObjectsPlaceOneOfThemIsOutOfItNotBoth) {
  CrowdData crowd = empty_crowd(200, 2, 1);
  std::mt19937 random(5);
  std::normal_distribution<double> off(0, 8);
  double far_apart = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    std::array<Box, 2> drawn;
    for (int k = 0; k < 2; ++k) {
      Box& b = drawn[static_cast<std::size_t>(k)];
      b = {40 + off(random), 40 + off(random), 95 + off(random), 95 + off(random)};
      crowd.annotations.push_back({b, static_cast<std::int32_t>(i), 0, k});
      crowd.assignments.push_back({static_cast<std::int32_t>(i), k});
    }
    if (iou(drawn[0], drawn[1]) < bdc::kDrawnIou) ++far_apart;
  }
  crowd.finalize();
  ASSERT_GT(far_apart, 10);
  const AbsenceAwareResult r = run_absence_aware(crowd, nullptr);
  const double loose = r.evidence.source[0].loose + r.evidence.source[1].loose;
  EXPECT_GT(loose, 0.5 * far_apart);
  EXPECT_LT(loose, 1.3 * far_apart);
}

TEST(AbsenceAware, AnAnnotatorWhoLookedAndDrewNothingIsEvidenceAgainst) {
  // Annotator 0 draws a lone box in the last image. In one crowd the others saw that image, in the other they did not.
  const auto existence = [](bool others_saw) {
    Scene scene = make_scene(11, 100, 2, std::vector<Skill>(5), 1.0);
    CrowdData& crowd = scene.crowd;
    crowd.images.push_back(crowd.images.back());
    crowd.truth.clear();
    crowd.truth_covers.clear();
    crowd.has_truth = false;
    const auto last = static_cast<std::int32_t>(crowd.images.size() - 1);
    crowd.annotations.push_back({{100, 100, 200, 200}, last, 0, 0});
    for (std::int32_t k = 1; k < 5 && others_saw; ++k) crowd.assignments.push_back({last, k});
    crowd.finalize();
    AbsenceAwareOptions options;
    options.min_existence = 0;
    const AbsenceAwareResult r = run_absence_aware(crowd, nullptr, options);
    EXPECT_EQ(r.targets.begin[101] - r.targets.begin[100], 1U);
    return r.targets.existence.back();
  };
  EXPECT_LT(existence(true), 0.02);
  EXPECT_GT(existence(false), 0.6);
}

TEST(AbsenceAware, AnAnnotatorWhoNeverDrawsAnythingCannotTurnAnExpertsBoxesIntoInventions) {
  for (const std::size_t images : {2U, 12U, 60U}) {
    Scene scene = make_scene(21, images, 3, std::vector<Skill>(1), 1.0);
    CrowdData& crowd = scene.crowd;
    crowd.annotators.push_back({{"silent", false}, ""});
    for (std::size_t i = 0; i < images; ++i) crowd.assignments.push_back({static_cast<std::int32_t>(i), 1});
    crowd.finalize();
    const AbsenceAwareResult r = run_absence_aware(crowd, nullptr);
    EXPECT_FALSE(r.beliefs.corroborated);
    ASSERT_GT(crowd.annotations.size(), 0U);
    EXPECT_EQ(r.targets.box.size(), crowd.annotations.size()) << images;
    for (const double e : r.targets.existence) EXPECT_GT(e, 0.5) << images;
  }
}

TEST(AbsenceAware, AnObjectFormsHoweverManyLooked) {
  // Two boxes against 58 who drew nothing yet would never start an object; all 60 together must.
  const Scene scene = make_scene(12, 20, 3, std::vector<Skill>(60), 1.0);
  const AbsenceAwareResult r = run_absence_aware(scene.crowd, nullptr);
  std::size_t certain = 0;
  for (const double e : r.targets.existence) certain += e > 0.99 ? 1 : 0;
  EXPECT_EQ(certain, scene.crowd.truth.size());
}

TEST(AbsenceAware, WorksWhenNobodySaidWhoSawWhat) {
  Scene scene = make_scene(13, 60, 3, std::vector<Skill>(5), 1.0);
  scene.crowd.assignments.clear();
  scene.crowd.assignments_known = false;
  scene.crowd.finalize();
  const AbsenceAwareResult r = run_absence_aware(scene.crowd, nullptr);
  expect_sane(r, 60);
  EXPECT_GE(r.targets.box.size(), scene.crowd.truth.size() * 9 / 10);
}

TEST(AbsenceAware, AcceptsImagesAndCrowdsWithNothingInThem) {
  CrowdData nothing = empty_crowd(0, 0, 0);
  nothing.finalize();
  expect_sane(run_absence_aware(nothing, nullptr), 0);

  CrowdData blank = empty_crowd(3, 2, 2);
  for (std::int32_t i = 0; i < 3; ++i) blank.assignments.push_back({i, 0});
  blank.finalize();
  const AbsenceAwareResult r = run_absence_aware(blank, nullptr);
  expect_sane(r, 3);
  EXPECT_TRUE(r.targets.box.empty());

  CrowdData one = empty_crowd(3, 2, 2);
  one.annotations.push_back({{10, 10, 50, 60}, 1, 1, 0});
  one.finalize();
  expect_sane(run_absence_aware(one, nullptr), 3);
  EXPECT_EQ(run_absence_aware(one, nullptr).targets.begin, (std::vector<std::size_t>{0, 0, 1, 1}));
}

TEST(AbsenceAware, OneAnnotatorsBoxesAreTheConsensus) {
  const Scene scene = make_scene(17, 40, 3, std::vector<Skill>(1), 1.0);
  AbsenceAwareOptions options;
  options.min_existence = 0;
  const AbsenceAwareResult r = run_absence_aware(scene.crowd, nullptr, options);
  expect_sane(r, 40);
  ASSERT_EQ(r.targets.box.size(), scene.crowd.annotations.size());
  for (const bdc::Annotation& a : scene.crowd.annotations) {
    const Box inside{std::max(0.0, a.box.x1), std::max(0.0, a.box.y1), std::min(640.0, a.box.x2),
                     std::min(480.0, a.box.y2)};
    double best = 0;
    const auto image = static_cast<std::size_t>(a.image);
    for (std::size_t n = r.targets.begin[image]; n < r.targets.begin[image + 1]; ++n) {
      best = std::max(best, iou(inside, r.targets.box[n]));
    }
    EXPECT_GT(best, 0.99);
  }
  for (const double e : r.targets.existence) EXPECT_GT(e, 0.5);
}

TEST(AbsenceAware, SameBitsForAnyNumberOfThreads) {
  const Scene scene = make_scene(19, 120, 4, random_skills(19, 9), 0.7);
  AbsenceAwareOptions options;
  options.max_rounds = 6;
  options.threads = 1;
  const AbsenceAwareResult one = run_absence_aware(scene.crowd, &scene.predictions, options);
  for (const int threads : {2, 5}) {
    options.threads = threads;
    expect_same_bits(one, run_absence_aware(scene.crowd, &scene.predictions, options));
  }
}

TEST(AbsenceAware, SurvivesBoxesOfOnePixelAndBoxesThatAgreeExactly) {
  CrowdData crowd = empty_crowd(4, 3, 2);
  for (std::int32_t i = 0; i < 4; ++i) {
    for (std::int32_t k = 0; k < 3; ++k) {
      const double x = 10.0 * (i + 1);
      crowd.annotations.push_back({{x, x, x + 1, x + 1}, i, k % 2, k});
      crowd.annotations.push_back({{100, 100, 300, 300}, i, 0, k});
      crowd.annotations.push_back({{0, 0, 640, 480}, i, 1, k});
      crowd.annotations.push_back({{-5, -5, 0.5, 0.5}, i, 1, k});
    }
  }
  crowd.finalize();
  const AbsenceAwareResult r = run_absence_aware(crowd, nullptr);
  expect_sane(r, 4);
  EXPECT_EQ(r.targets.box.size(), 16U);
}

TEST(AbsenceAware, ManyOverlappingBoxesInOneImageStayAffordable) {
  CrowdData crowd = empty_crowd(2, 5, 3);
  std::mt19937 rng(23);
  std::uniform_real_distribution<double> place(0, 400), size(20, 200);
  for (int n = 0; n < 2500; ++n) {  // 500 a head, all over each other
    const double x = place(rng), y = place(rng);
    crowd.annotations.push_back({{x, y, x + size(rng), y + size(rng)}, 0, n % 3, n % 5});
  }
  crowd.finalize();
  AbsenceAwareOptions options;
  options.max_rounds = 3;
  options.min_existence = 0;
  const AbsenceAwareResult r = run_absence_aware(crowd, nullptr, options);
  expect_sane(r, 2);
  EXPECT_GE(r.targets.box.size(), 500U);  // no candidate holds two boxes of one annotator
}

TEST(AbsenceAware, ADetectorSettlesWhatTheCrowdLeavesOpen) {
  // Two annotators, always of different opinions on the class; the detector is right.
  Scene scene = make_scene(29, 80, 2, std::vector<Skill>(2), 1.0);
  for (bdc::Annotation& a : scene.crowd.annotations) {
    if (a.annotator == 1) a.label = static_cast<std::int32_t>((a.image * 7 + 3) % 2);
  }
  const AbsenceAwareResult without = run_absence_aware(scene.crowd, nullptr);
  const AbsenceAwareResult with = run_absence_aware(scene.crowd, &scene.predictions);
  expect_sane(with, 80);
  ASSERT_EQ(with.beliefs.source.size(), 3U);
  EXPECT_GT(with.beliefs.source[2].mean_recall(), 0.75);
  const auto doubt = [](const AbsenceAwareResult& r) {
    double sum = 0, weight = 0;
    for (std::size_t n = 0; n < r.targets.box.size(); ++n) {
      sum += r.targets.existence[n] * std::min(r.targets.class_probs[2 * n], r.targets.class_probs[2 * n + 1]);
      weight += r.targets.existence[n];
    }
    return sum / weight;
  };
  EXPECT_LT(doubt(with), doubt(without));
}

TEST(AbsenceAware, BoxesThatAreNoBoxesAreSkippedAndCounted) {
  Scene scene = make_scene(31, 10, 2, std::vector<Skill>(3), 1.0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  scene.crowd.annotations.push_back({{10, 10, 10, 20}, 0, 0, 0});
  scene.crowd.annotations.push_back({{nan, 10, 30, 20}, 1, 0, 1});
  scene.crowd.annotations.push_back({{30, 10, 10, 20}, 2, 0, 1});
  scene.crowd.finalize();
  const AbsenceAwareResult r = run_absence_aware(scene.crowd, nullptr);
  EXPECT_EQ(r.skipped_boxes, 3U);
  expect_sane(r, 10);
}

TEST(AbsenceAware, PredictionsOfAnotherDataSetAreRefused) {
  Scene scene = make_scene(37, 5, 2, std::vector<Skill>(2), 1.0);
  Predictions other = scene.predictions;
  other.begin.pop_back();
  EXPECT_THROW((void)run_absence_aware(scene.crowd, &other), bdc::DataError);
  other = scene.predictions;
  other.num_classes = 3;
  EXPECT_THROW((void)run_absence_aware(scene.crowd, &other), bdc::DataError);
}

bdc::ImageLabels labels_of(const Scene& scene, std::size_t i) {
  bdc::ImageLabels labels;
  labels.width = scene.crowd.images[i].width;
  labels.height = scene.crowd.images[i].height;
  const auto& c = scene.crowd;
  labels.annotations = {c.annotations.data() + c.annotation_begin[i],
                        c.annotation_begin[i + 1] - c.annotation_begin[i]};
  labels.seen_by = {c.assignments.data() + c.assignment_begin[i], c.assignment_begin[i + 1] - c.assignment_begin[i]};
  const auto& p = scene.predictions;
  const std::size_t first = p.begin[i], count = p.begin[i + 1] - first, J = static_cast<std::size_t>(p.num_classes);
  labels.prediction_box = {p.box.data() + first, count};
  labels.prediction_score = {p.score.data() + first, count};
  labels.prediction_class_probs = {p.class_probs.data() + first * J, count * J};
  return labels;
}

TEST(AbsenceAware, OneImageAtATimeGivesTheTargetsOfTheFit) {
  const Scene scene = make_scene(41, 80, 3, std::vector<Skill>(5), 1.0);
  const AbsenceAwareResult fit = run_absence_aware(scene.crowd, &scene.predictions);
  std::size_t same = 0, all = 0;
  for (std::size_t i = 0; i < 80; ++i) {
    const bdc::Targets t = consensus_of_image(fit.beliefs, labels_of(scene, i), 0.5, nullptr);
    for (std::size_t n = fit.targets.begin[i]; n < fit.targets.begin[i + 1]; ++n) {
      if (fit.targets.existence[n] < 0.5) continue;
      ++all;
      same += std::any_of(t.box.begin(), t.box.end(), [&](const Box& b) { return iou(b, fit.targets.box[n]) > 0.98; });
    }
  }
  ASSERT_GT(all, 100U);
  EXPECT_GE(same * 100, all * 99);
}

TEST(AbsenceAware, TrainingOneImageAtATimeLearnsTheSameAnnotatorsAndShardsAdd) {
  const Scene scene = make_scene(43, 150, 3, random_skills(43, 6), 1.0);
  const AbsenceAwareResult fit = run_absence_aware(scene.crowd, &scene.predictions);
  bdc::AbsenceAwareBeliefs beliefs = bdc::initial_beliefs(scene.crowd, true);
  beliefs.priors.size_power = fit.beliefs.priors.size_power;  // the scale that precisions are measured on
  beliefs.priors.tail = fit.beliefs.priors.tail;
  for (int epoch = 0; epoch < 12; ++epoch) {
    bdc::AbsenceAwareEvidence first = bdc::empty_evidence(beliefs), second = first, whole = first;
    for (std::size_t i = 0; i < 150; ++i) {
      (void)consensus_of_image(beliefs, labels_of(scene, i), 0.01, i < 70 ? &first : &second);
      (void)consensus_of_image(beliefs, labels_of(scene, i), 0.01, &whole);
    }
    first.merge(second);
    for (std::size_t k = 0; k < 7; ++k) {
      EXPECT_NEAR(first.source[k].found, whole.source[k].found, 1e-9);
      EXPECT_NEAR(first.source[k].square[2], whole.source[k].square[2], 1e-9);
      EXPECT_NEAR(first.source[k].missed, whole.source[k].missed, 1e-9);
    }
    update_beliefs(beliefs, first);
  }
  for (std::size_t k = 0; k < 7; ++k) {
    EXPECT_NEAR(beliefs.source[k].mean_recall(), fit.beliefs.source[k].mean_recall(), 0.05);
    EXPECT_NEAR(std::log(beliefs.source[k].precision[0] / fit.beliefs.source[k].precision[0]), 0, 0.4);
  }
}

TEST(AbsenceAware, EvidenceFromBeforeMakesASmallCrowdAsGoodAsALargeOne) {
  std::vector<Skill> skills(4);
  skills[0].noise = 0.02;
  skills[1].noise = skills[2].noise = skills[3].noise = 0.2;
  const Scene large = make_scene(47, 300, 1, skills, 1.0), small = make_scene(48, 6, 1, skills, 1.0);
  const AbsenceAwareResult before = run_absence_aware(large.crowd, nullptr);
  AbsenceAwareOptions options;
  options.prior_evidence = &before.evidence;
  options.priors = &before.beliefs.priors;
  const AbsenceAwareResult r = run_absence_aware(small.crowd, nullptr, options);
  const AbsenceAwareResult alone = run_absence_aware(small.crowd, nullptr);
  const auto ratio = [](const AbsenceAwareResult& x) {
    return x.beliefs.source[0].precision[0] / x.beliefs.source[1].precision[0];
  };
  EXPECT_GT(ratio(before), 10);
  EXPECT_GT(ratio(r), 10);
  EXPECT_LT(ratio(alone), ratio(r));
}

TEST(AbsenceAware, EvidenceOfDifferentCrowdsDoesNotMerge) {
  const Scene a = make_scene(53, 5, 2, std::vector<Skill>(2), 1.0),
              b = make_scene(53, 5, 2, std::vector<Skill>(3), 1.0);
  bdc::AbsenceAwareEvidence x = bdc::empty_evidence(bdc::initial_beliefs(a.crowd, false));
  const bdc::AbsenceAwareEvidence y = bdc::empty_evidence(bdc::initial_beliefs(b.crowd, false));
  EXPECT_THROW(x.merge(y), std::invalid_argument);
}

}  // namespace
