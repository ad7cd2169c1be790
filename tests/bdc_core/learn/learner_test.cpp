// The laws of every learner in the table, and of a small one that is not in it. They take any LearnerEntry, so that a
// new learner is covered by its line in the table.
#include "bdc/learn/learner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "bdc/base/error.h"
#include "bdc/base/state_bytes.h"
#include "bdc/learn/bdc/absence_aware.h"
#include "bdc/learn/learners.h"
#include "bdc/metrics/aggregation_ap.h"
#include "support/random_crowd.h"

namespace {

using bdc::Learner;
using bdc::LearnerEntry;
using bdc::Targets;

Targets run_epoch(Learner& learner, const RandomCrowd& data, std::size_t from, std::size_t to) {
  Targets all;
  for (std::size_t i = from; i < to; ++i) append_image(learner.observe(i, detections_of(&data.predictions, i)), 0, all);
  return all;
}

std::unique_ptr<Learner> begun(const LearnerEntry& entry, const bdc::CrowdData& crowd) {
  std::map<std::string, bdc::OptionValue> values;
  for (const auto& option : entry.info.options) values[option.name] = option.default_value;
  for (const auto& option : entry.info.training_options) values[option.name] = option.default_value;
  auto learner = entry.create(bdc::Options(values));
  learner->begin(crowd, 1);
  return learner;
}

void expect_same_bits(const Targets& a, const Targets& b) {
  ASSERT_EQ(a.begin, b.begin);
  EXPECT_EQ(a.box, b.box);
  EXPECT_EQ(a.class_probs, b.class_probs);
  EXPECT_EQ(a.hard_label, b.hard_label);
  EXPECT_EQ(a.weight, b.weight);
}

void expect_same_posteriors(const Learner& a, const Learner& b) {
  const auto p = a.posteriors(), q = b.posteriors();
  ASSERT_EQ(p.has_value(), q.has_value());
  if (!p) return;
  EXPECT_EQ(p->confusion.value, q->confusion.value);
  for (std::size_t k = 0; k < p->annotators.size(); ++k) {
    const bdc::AnnotatorEvidence &x = p->annotators[k], &y = q->annotators[k];
    EXPECT_EQ(x.box.count, y.box.count);
    EXPECT_EQ(x.box.sum, y.box.sum);
    EXPECT_EQ(x.box.cross, y.box.cross);
    EXPECT_EQ(x.found, y.found);
    EXPECT_EQ(x.missed, y.missed);
    EXPECT_EQ(x.spurious, y.spurious);
    EXPECT_EQ(x.judged, y.judged);
  }
}

/// Counts how often every annotator was in the majority. All it takes to train beside a detector: one such file and its
/// line in the table.
class Counting final : public Learner {
 public:
  void begin(const bdc::CrowdData& crowd, int threads, bdc::Ranks&) override {
    crowd_ = &crowd;
    bdc::FitInput input;
    input.crowd = &crowd;
    input.threads = threads;
    alone_ = bdc::make_learner("mv")->fit(input).targets;
    evidence_ = Boxes(crowd.annotators.size());
    learnt_.assign(crowd.annotators.size(), 0);
  }
  [[nodiscard]] const Targets& without_detector() const override { return alone_; }
  Targets observe(std::size_t image, const bdc::DetectedBoxes&) override {
    for (std::size_t a = crowd_->annotation_begin[image]; a < crowd_->annotation_begin[image + 1]; ++a) {
      evidence_.boxes[static_cast<std::size_t>(crowd_->annotations[a].annotator)] += 1;
    }
    ++evidence_.seen;
    Targets out;
    append_image(alone_, image, out);
    return out;
  }
  [[nodiscard]] bdc::Evidence& evidence() override { return evidence_; }
  double finish_epoch() override {
    learnt_ = evidence_.boxes;
    evidence_ = Boxes(learnt_.size());
    return std::accumulate(learnt_.begin(), learnt_.end(), 0.0);
  }
  [[nodiscard]] std::optional<bdc::AnnotatorPosteriors> posteriors() const override {
    bdc::AnnotatorPosteriors out;
    out.profile = "a_new_one";
    for (const double n : learnt_) out.annotators.emplace_back().annotations = n;
    return out;
  }
  [[nodiscard]] std::string save() const override {
    bdc::StateWriter state;
    state(learnt_), state(evidence_.seen), state(evidence_.boxes);
    return state.take();
  }
  void load(const std::string& bytes) override {
    bdc::StateReader state(bytes);
    state(learnt_), state(evidence_.seen), state(evidence_.boxes);
    state.finish();
  }

 private:
  struct Boxes final : bdc::Evidence {
    explicit Boxes(std::size_t annotators = 0) : boxes(annotators, 0.0) {}
    [[nodiscard]] std::size_t images() const override { return seen; }
    void merge(const Evidence& other) override {
      const auto& from = dynamic_cast<const Boxes&>(other);
      seen += from.seen;
      for (std::size_t k = 0; k < boxes.size(); ++k) boxes[k] += from.boxes[k];
    }
    [[nodiscard]] std::string save() const override {
      bdc::StateWriter state;
      state(seen), state(boxes);
      return state.take();
    }
    void load(const std::string& bytes) override {
      bdc::StateReader state(bytes);
      state(seen), state(boxes);
    }
    void merge_saved(const std::string& bytes) override {
      Boxes other = *this;
      other.load(bytes);
      merge(other);
    }
    std::size_t seen = 0;
    std::vector<double> boxes;  ///< whole numbers, which add exactly
  };

  const bdc::CrowdData* crowd_ = nullptr;
  Targets alone_;
  std::vector<double> learnt_;
  Boxes evidence_;
};

LearnerEntry counting_learner() {
  LearnerEntry entry;
  entry.info.name = "a_new_one";
  entry.info.traits.learns_annotators = true;
  entry.create = [](const bdc::Options&) { return std::make_unique<Counting>(); };
  return entry;
}

std::vector<LearnerEntry> with_a_new_one() {
  std::vector<LearnerEntry> all = bdc::learners();
  all.push_back(counting_learner());
  return all;
}

std::string test_name(const ::testing::TestParamInfo<LearnerEntry>& info) {
  std::string name = info.param.info.name;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

class EveryLearner : public ::testing::TestWithParam<LearnerEntry> {};
INSTANTIATE_TEST_SUITE_P(Table, EveryLearner, ::testing::ValuesIn(with_a_new_one()), test_name);

TEST_P(EveryLearner, EvidenceOfPartsMergesToThatOfTheWholeBitForBit) {
  const RandomCrowd data(11, 40, 6, 4);
  const auto whole = begun(GetParam(), data.crowd), first = begun(GetParam(), data.crowd),
             second = begun(GetParam(), data.crowd);
  for (int epoch = 0; epoch < 3; ++epoch) {
    SCOPED_TRACE(epoch);
    const Targets all = run_epoch(*whole, data, 0, 40);
    Targets parts = run_epoch(*first, data, 0, 17);
    const Targets rest = run_epoch(*second, data, 17, 40);
    for (std::size_t i = 0; i + 1 < rest.begin.size(); ++i) append_image(rest, i, parts);
    expect_same_bits(all, parts);
    first->evidence().merge(second->evidence());
    second->evidence().load(first->evidence().save());  // as another machine would get it
    EXPECT_EQ(first->evidence().images(), 40U);
    EXPECT_EQ(second->evidence().images(), 40U);
    const double bound = whole->finish_epoch();
    EXPECT_EQ(first->finish_epoch(), bound);
    EXPECT_EQ(second->finish_epoch(), bound);
    EXPECT_EQ(whole->evidence().images(), 0U);
    expect_same_posteriors(*whole, *first);
    expect_same_posteriors(*whole, *second);
    EXPECT_EQ(whole->save(), first->save());
    EXPECT_EQ(whole->save(), second->save());
  }
}

TEST_P(EveryLearner, SavedEvidenceMovesBetweenProcessesInAnyNumberOfPieces) {
  // Three ranks. In the middle of the epoch all evidence goes to the first, as for a checkpoint; at its end to
  // everyone.
  const RandomCrowd data(13, 36, 6, 4);
  const auto whole = begun(GetParam(), data.crowd);
  std::vector<std::unique_ptr<Learner>> ranks;
  for (int r = 0; r < 3; ++r) ranks.push_back(begun(GetParam(), data.crowd));
  const std::string empty = ranks[0]->evidence().save();
  for (int epoch = 0; epoch < 2; ++epoch) {
    SCOPED_TRACE(epoch);
    run_epoch(*whole, data, 0, 36);
    const auto observe = [&](std::size_t r, std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) (void)ranks[r]->observe(i, detections_of(&data.predictions, i));
    };
    for (std::size_t r = 0; r < 3; ++r) observe(r, 6 * r, 6 * r + 6);
    for (std::size_t r = 1; r < 3; ++r) {
      ranks[0]->evidence().merge_saved(ranks[r]->evidence().save());
      ranks[r]->evidence().load(empty);
    }
    EXPECT_EQ(ranks[0]->evidence().images(), 18U);
    EXPECT_EQ(ranks[1]->evidence().images(), 0U);
    for (std::size_t r = 0; r < 3; ++r) observe(r, 18 + 6 * r, 24 + 6 * r);
    for (std::size_t r = 1; r < 3; ++r) ranks[0]->evidence().merge_saved(ranks[r]->evidence().save());
    for (std::size_t r = 1; r < 3; ++r) ranks[r]->evidence().load(ranks[0]->evidence().save());
    const double bound = whole->finish_epoch();
    for (const auto& rank : ranks) {
      EXPECT_EQ(rank->finish_epoch(), bound);
      expect_same_posteriors(*whole, *rank);
      EXPECT_EQ(whole->save(), rank->save());
    }
  }
}

TEST_P(EveryLearner, NeitherTheOrderOfImagesNorThatOfPartsMatters) {
  const RandomCrowd data(12, 30, 5, 3);
  const auto whole = begun(GetParam(), data.crowd);
  run_epoch(*whole, data, 0, 30);
  std::vector<std::size_t> order(30);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  std::vector<std::unique_ptr<Learner>> shards;
  for (std::size_t s = 0; s < 3; ++s) {
    shards.push_back(begun(GetParam(), data.crowd));
    for (std::size_t n = s; n < 30; n += 3) {
      (void)shards[s]->observe(order[n], detections_of(&data.predictions, order[n]));
    }
  }
  shards[2]->evidence().merge(shards[0]->evidence());
  shards[2]->evidence().merge(shards[1]->evidence());
  EXPECT_EQ(whole->finish_epoch(), shards[2]->finish_epoch());
  expect_same_posteriors(*whole, *shards[2]);
}

TEST_P(EveryLearner, TargetsAreBoxesInsideTheImageWithClassesAndWeights) {
  const RandomCrowd data(1, 40, 6, 4);
  const auto learner = begun(GetParam(), data.crowd);
  ASSERT_EQ(learner->without_detector().begin.size(), 41U);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (std::size_t i = 0; i < data.crowd.images.size(); ++i) {
      const Targets t = learner->observe(i, detections_of(&data.predictions, i));
      ASSERT_EQ(t.begin.size(), 2U);
      for (std::size_t n = 0; n < t.box.size(); ++n) {
        EXPECT_TRUE(t.box[n].valid());
        EXPECT_GE(t.box[n].x1, 0);
        EXPECT_LE(t.box[n].x2, data.crowd.images[i].width);
        EXPECT_GT(t.weight[n], 0);
        EXPECT_LE(t.weight[n], 1);
        double sum = 0;
        for (std::size_t j = 0; j < 4; ++j) sum += t.class_prob(n, j);
        EXPECT_NEAR(sum, 1, 1e-6);
      }
    }
    EXPECT_TRUE(std::isfinite(learner->finish_epoch()));
  }
  EXPECT_EQ(learner->posteriors().has_value(), GetParam().info.traits.learns_annotators);
}

TEST_P(EveryLearner, ADetectorThatHasComeApartLeavesNoTraceInTheEvidence) {
  const RandomCrowd data(15, 20, 5, 3);
  const auto learner = begun(GetParam(), data.crowd), blind = begun(GetParam(), data.crowd);
  RandomCrowd broken = data;
  std::fill(broken.predictions.class_probs.begin(), broken.predictions.class_probs.end(), std::nan(""));
  run_epoch(*learner, broken, 0, 20);
  for (std::size_t i = 0; i < 20; ++i) (void)blind->observe(i, {});
  EXPECT_EQ(learner->finish_epoch(), blind->finish_epoch());
  expect_same_posteriors(*learner, *blind);
}

TEST_P(EveryLearner, AStateSavedInMidEpochGoesOnWithTheSameBits) {
  const RandomCrowd data(2, 30, 5, 3);
  const auto unbroken = begun(GetParam(), data.crowd);
  run_epoch(*unbroken, data, 0, 30);
  (void)unbroken->finish_epoch();
  run_epoch(*unbroken, data, 0, 11);
  const std::string state = unbroken->save();

  const auto resumed = begun(GetParam(), data.crowd);
  resumed->load(state);
  expect_same_posteriors(*unbroken, *resumed);
  expect_same_bits(run_epoch(*unbroken, data, 11, 30), run_epoch(*resumed, data, 11, 30));
  EXPECT_EQ(unbroken->finish_epoch(), resumed->finish_epoch());
  expect_same_bits(run_epoch(*unbroken, data, 0, 30), run_epoch(*resumed, data, 0, 30));
  EXPECT_EQ(unbroken->save(), resumed->save());
}

TEST_P(EveryLearner, AStateOfAnotherCrowdOrADamagedOneIsRefused) {
  const RandomCrowd data(3, 20, 5, 3), other(4, 25, 6, 3);
  const auto learner = begun(GetParam(), data.crowd);
  const std::string state = learner->save();
  EXPECT_THROW(learner->load(state + "x"), std::invalid_argument);
  if (state.empty()) return;  // nothing to remember
  EXPECT_THROW(begun(GetParam(), other.crowd)->load(state), std::invalid_argument);
  EXPECT_THROW(learner->load(state.substr(0, state.size() / 2)), std::invalid_argument);
  EXPECT_THROW(learner->load(""), std::invalid_argument);
}

TEST_P(EveryLearner, FitGivesWhatItsTraitsPromise) {
  const RandomCrowd data(5, 30, 5, 3);
  std::map<std::string, bdc::OptionValue> values;
  for (const auto& option : GetParam().info.options) values[option.name] = option.default_value;
  for (const auto& option : GetParam().info.training_options) values[option.name] = option.default_value;
  const auto learner = GetParam().create(bdc::Options(values));
  bdc::FitInput input;
  input.crowd = &data.crowd;
  const bdc::FitResult result = learner->fit(input);
  const bdc::LearnerTraits& traits = GetParam().info.traits;
  EXPECT_EQ(result.targets.begin.size(), 31U);
  EXPECT_EQ(!result.targets.existence.empty(), traits.knows_existence);
  ASSERT_EQ(result.posteriors.has_value(), traits.learns_annotators);
  if (!result.posteriors) return;
  EXPECT_EQ(result.posteriors->profile, GetParam().info.name);
  double boxes = 0, classes = 0, drawn = 0;
  for (const bdc::AnnotatorEvidence& a : result.posteriors->annotators) {
    boxes += a.box.count;
    drawn += a.found;
  }
  for (const double n : result.posteriors->confusion.value) classes += n;
  EXPECT_EQ(boxes > 0, traits.knows_boxes);
  EXPECT_EQ(classes > 0, traits.knows_classes);
  EXPECT_EQ(drawn > 0, traits.knows_recall);
}

TEST(Evidence, OfDifferentLearnersOrCrowdsIsNotMerged) {
  const RandomCrowd data(13, 10, 4, 3), other(14, 12, 5, 3);
  for (const LearnerEntry& a : bdc::learners()) {
    const auto learner = begun(a, data.crowd);
    for (const LearnerEntry& b : bdc::learners()) {
      const bool learns = a.info.traits.learns_annotators || b.info.traits.learns_annotators;
      if (a.info.name == b.info.name || !learns) continue;
      EXPECT_THROW(learner->evidence().merge(begun(b, data.crowd)->evidence()), std::invalid_argument)
          << a.info.name << " " << b.info.name;
    }
    if (!a.info.traits.learns_annotators) continue;
    EXPECT_THROW(learner->evidence().merge(begun(a, other.crowd)->evidence()), std::invalid_argument) << a.info.name;
    EXPECT_THROW(learner->evidence().load("nonsense"), std::invalid_argument) << a.info.name;
    EXPECT_THROW(learner->evidence().merge_saved("nonsense"), std::invalid_argument) << a.info.name;
  }
}

TEST(Learner, AStateOfTheVersionBeforeIsRefusedWithASentence) {
  const RandomCrowd data(3, 20, 5, 3);
  for (const LearnerEntry& entry : bdc::learners()) {
    if (!entry.info.traits.learns_annotators) continue;
    try {
      begun(entry, data.crowd)->load(std::string(4096, '\1'));
      ADD_FAILURE() << entry.info.name;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("saved by another version of bdc"), std::string::npos) << e.what();
    }
  }
}

TEST(Learner, LabelsWithoutAnnotatorsTeachNothing) {
  RandomCrowd data(6, 5, 2, 2);
  data.crowd.annotators.clear();
  data.crowd.annotations.clear();
  for (const LearnerEntry& entry : bdc::learners()) {
    if (!entry.info.traits.learns_annotators) continue;
    EXPECT_THROW((void)begun(entry, data.crowd), bdc::DataError) << entry.info.name;
  }
}

TEST(Learners, NamesAreUniqueAndTheTableAnswersByName) {
  for (const LearnerEntry& entry : bdc::learners()) {
    EXPECT_EQ(bdc::find_learner(entry.info.name)->info.description, entry.info.description);
    EXPECT_FALSE(entry.info.description.empty());
  }
  EXPECT_EQ(bdc::find_learner("bayes"), nullptr);
  EXPECT_FALSE(bdc::learner_traits("bayes").learns_annotators);
  EXPECT_THROW((void)bdc::make_learner_with("bayes", {}), std::invalid_argument);
}

TEST(Learners, BdcIsTheMethodWhoseProfileChoosesALearner) {
  const auto& all = bdc::methods();
  const auto method = std::find_if(all.begin(), all.end(), [](const auto& m) { return m.name == "bdc"; });
  ASSERT_NE(method, all.end());
  EXPECT_EQ(method->compared_by, "profile");
  EXPECT_EQ(method->learners.front()->info.name, "absence_aware");
  const RandomCrowd data(5, 20, 5, 3);
  bdc::FitInput input;
  input.crowd = &data.crowd;
  for (const LearnerEntry* profile : method->learners) {
    const auto by_option = bdc::make_learner("bdc", {{"profile", profile->info.name}})->fit(input);
    expect_same_bits(bdc::make_learner(profile->info.name)->fit(input).targets, by_option.targets);
  }
  EXPECT_EQ(bdc::make_learner("bdc")->fit(input).posteriors->profile, "absence_aware");
}

TEST(PaperLearner, InTrainingATargetCountsByTheShareOfThoseWhoLooked) {
  RandomCrowd data(61, 60, 5, 3);
  const std::size_t targets = [&] {
    auto learner = bdc::make_learner("paper");
    learner->begin(data.crowd, 1);
    std::size_t count = 0;
    for (std::size_t i = 0; i < 60; ++i) {
      count += learner->observe(i, bdc::detections_of(&data.predictions, i)).box.size();
    }
    return count;
  }();
  ASSERT_GT(targets, 50U);
  // Ninety-five more who never saw these images.
  for (int k = 5; k < 100; ++k) data.crowd.annotators.push_back({{"annotator" + std::to_string(k), false}, ""});
  data.crowd.finalize();
  auto learner = bdc::make_learner("paper");
  learner->begin(data.crowd, 1);
  std::size_t count = 0;
  for (std::size_t i = 0; i < 60; ++i) {
    const Targets t = learner->observe(i, bdc::detections_of(&data.predictions, i));
    count += t.box.size();
    for (const double w : t.weight) EXPECT_GE(w, 0.2);
  }
  EXPECT_EQ(count, targets);
}

TEST(CrowdRcnnMethod, FitIsTheRoundsThatPrecedeTraining) {
  const RandomCrowd data(8, 40, 4, 3);
  bdc::FitInput input;
  input.crowd = &data.crowd;
  const auto fitted = bdc::make_learner("crowd_rcnn", {{"max_rounds", "10"}, {"tolerance", "0"}})->fit(input);
  expect_same_bits(fitted.targets, begun(*bdc::find_learner("crowd_rcnn"), data.crowd)->without_detector());
  EXPECT_FALSE(fitted.converged);
  const auto settled = bdc::make_learner("crowd_rcnn")->fit(input);
  EXPECT_TRUE(settled.converged);
  for (std::size_t n = 1; n < settled.bound.size(); ++n) EXPECT_GE(settled.bound[n], settled.bound[n - 1] - 1e-9);
}

TEST(CrowdRcnnMethod, PredictionsSpeakOfClasses) {
  RandomCrowd data(9, 40, 3, 3);
  bdc::FitInput input;
  input.crowd = &data.crowd;
  const auto alone = bdc::make_learner("crowd_rcnn")->fit(input);
  input.predictions = &data.predictions;
  const auto seen = bdc::make_learner("crowd_rcnn")->fit(input);
  EXPECT_EQ(alone.targets.box, seen.targets.box) << "boxes are the annotators' means";
  EXPECT_NE(alone.targets.class_probs, seen.targets.class_probs);
}

TEST(CrowdRcnnMethod, APriorIsWhatWasCountedBefore) {
  const RandomCrowd data(10, 40, 3, 3);
  bdc::FitInput input;
  input.crowd = &data.crowd;
  const auto first = bdc::make_learner("crowd_rcnn")->fit(input);
  input.prior = &*first.posteriors;
  const auto second = bdc::make_learner("crowd_rcnn")->fit(input);
  double counted = 0, boxes = static_cast<double>(data.crowd.annotations.size());
  for (const double n : second.posteriors->confusion.value) counted += n;
  EXPECT_NEAR(counted, boxes, 1e-9 * boxes) << "what came before is not counted again";
  for (std::size_t n = 1; n < second.bound.size(); ++n) EXPECT_GE(second.bound[n], second.bound[n - 1] - 1e-9);
  input.prior = nullptr;
  const auto other = bdc::make_learner("paper")->fit(input);
  input.prior = &*other.posteriors;
  EXPECT_THROW((void)bdc::make_learner("crowd_rcnn")->fit(input), bdc::DataError);
}

TEST(AbsenceAwareLearner, ADetectorThatSeesNothingDoesNotTakeObjectsAway) {
  const RandomCrowd data(7, 60, 6, 4);
  const auto learner = begun(*bdc::find_learner("absence_aware"), data.crowd);
  for (int epoch = 0; epoch < 3; ++epoch) {
    Targets all;
    for (std::size_t i = 0; i < data.crowd.images.size(); ++i) append_image(learner->observe(i, {}), 0, all);
    EXPECT_NEAR(static_cast<double>(all.box.size()), static_cast<double>(learner->without_detector().box.size()),
                0.1 * static_cast<double>(all.box.size()));
    (void)learner->finish_epoch();
  }
}

TEST(AbsenceAwareLearner, WhatADetectorWasNotShownItDidNotMiss) {
  const RandomCrowd data(71, 200, 3, 3);
  const bdc::AbsenceAwareResult fit = run_absence_aware(data.crowd, &data.predictions);
  double lower = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    bdc::ImageLabels labels = labels_of_image(data.crowd, i);  // the detector finds nothing
    if (labels.annotations.size() == 0) continue;
    bdc::AbsenceAwareEvidence missed = empty_evidence(fit.beliefs), unseen = missed;
    const Targets without = consensus_of_image(fit.beliefs, labels, 0, &missed);
    labels.view = bdc::Box{-50, -50, -10, -10};  // a zoom has pushed everything out of the frame
    const Targets with = consensus_of_image(fit.beliefs, labels, 0, &unseen);
    const auto sum = [](const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); };
    EXPECT_GE(sum(with.existence), sum(without.existence) - 1e-9) << i;
    lower += sum(with.existence) - sum(without.existence);
    // What nobody drew may be missed all the same.
    EXPECT_LE(unseen.source.back().missed, 0.2) << i;
    EXPECT_NEAR(missed.source.back().missed, sum(without.existence), 0.2) << i;
  }
  EXPECT_GT(lower, 1);
}

TEST(AbsenceAwareLearner, AGoodDetectorMakesTheConsensusBetter) {
  const RandomCrowd data(8, 200, 3, 4);
  const auto learner = begun(*bdc::find_learner("absence_aware"), data.crowd);
  Targets last;
  double bound = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    last = run_epoch(*learner, data, 0, data.crowd.images.size());
    const double now = learner->finish_epoch();
    if (epoch > 1) {
      EXPECT_GT(now, bound - 1e-6 * std::abs(bound));
    }
    bound = now;
  }
  EXPECT_GT(bdc::evaluate_targets(last, data.crowd).stats[0],
            bdc::evaluate_targets(learner->without_detector(), data.crowd).stats[0]);
}

TEST(AbsenceAwareLearner, LearnsWhoIsCareless) {
  const RandomCrowd data(5, 150, 5, 3);  // annotator k's boxes get noisier with k
  const auto learner = begun(*bdc::find_learner("absence_aware"), data.crowd);
  for (int epoch = 0; epoch < 3; ++epoch) {
    run_epoch(*learner, data, 0, data.crowd.images.size());
    (void)learner->finish_epoch();
  }
  const auto posteriors = *learner->posteriors();
  const auto noise = [&](std::size_t k) {
    const auto precision = posteriors.box(k).precision();
    return 1 / precision[0] + 1 / precision[1];
  };
  EXPECT_LT(noise(0), noise(4));
}

}  // namespace
