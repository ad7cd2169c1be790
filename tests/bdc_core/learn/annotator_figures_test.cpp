#include "bdc/learn/annotator_figures.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "bdc/learn/annotator_clusters.h"

namespace {

using bdc::AnnotatorPosteriors;
using bdc::Figure;

/// One annotator per entry: objects found and missed.
AnnotatorPosteriors people(const std::vector<std::pair<double, double>>& found_missed, std::size_t classes) {
  AnnotatorPosteriors p;
  p.profile = "absence_aware";
  bdc::set_figure_priors(p);
  p.classes.resize(classes);
  for (std::size_t j = 0; j < classes; ++j) p.classes[j].id = {std::to_string(j), true};
  p.confusion.num_classes = classes;
  p.confusion.begin.assign(1, 0);
  for (const auto& [found, missed] : found_missed) {
    bdc::AnnotatorEvidence a;
    a.id = {std::to_string(p.annotators.size()), true};
    a.images = 50;
    a.judged = found + missed > 0 ? 50 : 0;
    a.found = a.annotations = a.box.count = found;
    a.missed = missed;
    for (std::size_t e = 0; e < 4; ++e) a.box.cross[bdc::packed(e, e)] = 0.01 * found;
    p.annotators.push_back(a);
    if (found > 0) {
      p.confusion.label.push_back(0);
      p.confusion.value.push_back(found);
      for (std::size_t j = 1; j < classes; ++j) p.confusion.value.push_back(0);
    }
    p.confusion.begin.push_back(p.confusion.label.size());
  }
  return p;
}

TEST(AnnotatorFigures, WhoWasShownNothingIsNotKnownRatherThanPoor) {
  const AnnotatorPosteriors p = people({{40, 10}, {0, 0}}, 3);
  for (const Figure& f : {recall_figure(p, 1), spurious_figure(p, 1), accuracy_figure(p, 1), quality_figure(p, 1)}) {
    EXPECT_FALSE(f.determined);
    EXPECT_EQ(figure_text(f), "not known");
  }
  EXPECT_GT(recall_figure(p, 1).high - recall_figure(p, 1).low, 0.5);
  EXPECT_TRUE(quality_figure(p, 0).determined);
  EXPECT_EQ(bdc::cluster_annotators(p, 1).cluster[1], bdc::AnnotatorClusters::none) << "and is in no group";
}

TEST(AnnotatorFigures, ARecallOfFewObjectsIsDrawnToTheColleagues) {
  AnnotatorPosteriors p = people({{80, 20}, {78, 22}, {83, 17}, {2, 2}, {0, 0}}, 3);
  bdc::fit_recall_prior(p);
  EXPECT_NEAR(p.mean_recall(0), 0.8, 0.01);
  EXPECT_GT(p.mean_recall(3), 0.7) << "two of four, among people who find four of five";
  EXPECT_NEAR(p.mean_recall(4), 0.8, 0.02);
  EXPECT_FALSE(recall_figure(p, 4).determined);
  AnnotatorPosteriors apart = people({{95, 5}, {20, 80}, {60, 40}, {2, 2}}, 3);
  bdc::fit_recall_prior(apart);
  EXPECT_LT(apart.recall_prior.a + apart.recall_prior.b, 6) << "people who differ say little of a newcomer";
  AnnotatorPosteriors two = people({{80, 20}, {2, 2}}, 3);
  bdc::fit_recall_prior(two);
  EXPECT_EQ(two.recall_prior.a, 1) << "two people are no crowd";
}

TEST(AnnotatorFigures, AnAccuracyThatNobodyElseConfirmsIsNotKnown) {
  AnnotatorPosteriors p = people({{80, 20}}, 3);
  EXPECT_TRUE(accuracy_figure(p, 0).determined);
  p.annotators[0].box = {};  // nobody drew the same objects
  EXPECT_FALSE(accuracy_figure(p, 0).determined);
}

TEST(AnnotatorFigures, LooseBoxesAreNotRecall) {
  AnnotatorPosteriors p = people({{80, 20}}, 3);
  const double before = p.mean_recall(0), drawn = p.drawn_share(0);
  p.annotators[0].loose = 40;
  EXPECT_NEAR(p.mean_recall(0), before - 40.0 / 102, 1e-12);
  EXPECT_EQ(p.drawn_share(0), drawn);
}

TEST(AnnotatorFigures, IntervalsHoldTheFigureAndNarrowWithEvidence) {
  const AnnotatorPosteriors p = people({{8, 2}, {800, 200}}, 3);
  for (std::size_t k = 0; k < 2; ++k) {
    std::vector<Figure> all{recall_figure(p, k), spurious_figure(p, k), accuracy_figure(p, k), quality_figure(p, k),
                            box_noise_figure(p, k)};
    for (const Figure& f : bias_figures(p, k)) all.push_back(f);
    for (const Figure& f : noise_figures(p, k)) all.push_back(f);
    for (const Figure& f : all) {
      EXPECT_TRUE(f.determined);
      EXPECT_LT(f.low, f.mean);
      EXPECT_GT(f.high, f.mean);
    }
  }
  const Figure few = recall_figure(p, 0), many = recall_figure(p, 1);
  EXPECT_GT(few.high - few.low, 5 * (many.high - many.low));
  EXPECT_NEAR(many.high - many.low, 2 * 1.645 * std::sqrt(0.8 * 0.2 / 1000), 0.002);
}

TEST(AnnotatorFigures, BoxesThatMayBeObjectsOrNotWidenTheInterval) {
  AnnotatorPosteriors p = people({{800, 200}}, 1);
  const Figure sure = recall_figure(p, 0);
  p.annotators[0].missed_doubt = 50;
  const Figure unsure = recall_figure(p, 0);
  EXPECT_EQ(unsure.mean, sure.mean);
  EXPECT_GT(unsure.high - unsure.low, 1.5 * (sure.high - sure.low));
}

TEST(AnnotatorFigures, AccuracyIsOverTheClassesShownHoweverManyThereAre) {
  const AnnotatorPosteriors p = people({{300, 10}}, 1203);
  EXPECT_GT(accuracy_figure(p, 0).mean, 0.98);
  const AnnotatorPosteriors one = people({{300, 10}}, 1);
  EXPECT_FALSE(accuracy_figure(one, 0).determined) << "one class says nothing";
  EXPECT_TRUE(quality_figure(one, 0).determined);
  EXPECT_NEAR(quality_figure(one, 0).mean, one.mean_recall(0) / (1 + one.mean_spurious_per_image(0)), 1e-12);
}

TEST(AnnotatorFigures, AFileTellsEveryFigureWithItsInterval) {
  const AnnotatorPosteriors p = people({{40, 10}, {0, 0}}, 2);
  std::ostringstream out;
  write_annotator_posteriors(out, p);
  const auto file = nlohmann::json::parse(out.str());
  const auto& known = file["annotators"][0]["summary"];
  const auto& unknown = file["annotators"][1]["summary"];
  for (const char* key : {"recall", "spurious_per_image", "accuracy", "quality"}) {
    EXPECT_LT(known[key]["low"], known[key]["mean"]) << key;
    EXPECT_GT(known[key]["high"], known[key]["mean"]) << key;
    EXPECT_TRUE(unknown[key]["mean"].is_null()) << key;
  }
  EXPECT_EQ(known["box_mean"].size(), 4U);
  EXPECT_EQ(known["box_std"][3].size(), 3U);
}

}  // namespace
