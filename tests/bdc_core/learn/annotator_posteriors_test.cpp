#include "bdc/learn/annotator_posteriors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bdc/base/error.h"
#include "bdc/learn/learners.h"
#include "support/random_crowd.h"

namespace {

using nlohmann::json;

bdc::AnnotatorPosteriors learnt(const RandomCrowd& c, const char* profile = "absence_aware") {
  bdc::FitInput input;
  input.crowd = &c.crowd;
  bdc::AnnotatorPosteriors p = *bdc::make_learner("bdc", {{"profile", profile}})->fit(input).posteriors;
  for (std::size_t k = 0; k < p.annotators.size(); ++k) {
    p.annotators[k].found = 3.25 + static_cast<double>(k);
    p.annotators[k].missed = 1.5;
    p.annotators[k].spurious = 0.75;
    p.annotators[k].judged = 2 + static_cast<double>(k);
  }
  return p;
}

std::string written(const bdc::AnnotatorPosteriors& p) {
  std::ostringstream out;
  bdc::write_annotator_posteriors(out, p);
  return out.str();
}

bdc::AnnotatorPosteriors read_back(const std::string& text) {
  std::istringstream in(text);
  return bdc::read_annotator_posteriors(in, "annotators.json");
}

TEST(AnnotatorPosteriors, AFileHoldsEverything) {
  const bdc::AnnotatorPosteriors p = learnt(RandomCrowd(1, 40, 5, 4));
  const bdc::AnnotatorPosteriors q = read_back(written(p));
  EXPECT_EQ(q.profile, p.profile);
  EXPECT_EQ(q.box_prior.mean, p.box_prior.mean);
  EXPECT_EQ(q.box_prior.full_covariance, p.box_prior.full_covariance);
  EXPECT_EQ(q.classes.size(), p.classes.size());
  ASSERT_EQ(q.annotators.size(), p.annotators.size());
  for (std::size_t k = 0; k < p.annotators.size(); ++k) {
    EXPECT_EQ(q.annotators[k].id.text, p.annotators[k].id.text);
    EXPECT_EQ(q.annotators[k].id.is_integer, p.annotators[k].id.is_integer);
    EXPECT_EQ(q.annotators[k].images, p.annotators[k].images);
    EXPECT_EQ(q.annotators[k].judged, p.annotators[k].judged);
    EXPECT_EQ(q.annotators[k].annotations, p.annotators[k].annotations);
    EXPECT_EQ(q.annotators[k].box.count, p.annotators[k].box.count);
    EXPECT_EQ(q.annotators[k].box.sum, p.annotators[k].box.sum);
    EXPECT_EQ(q.annotators[k].box.cross, p.annotators[k].box.cross);
    EXPECT_EQ(q.annotators[k].found, p.annotators[k].found);
    EXPECT_EQ(q.mean_recall(k), p.mean_recall(k));
    EXPECT_EQ(q.mean_spurious_per_image(k), p.mean_spurious_per_image(k));
    EXPECT_NEAR(q.accuracy(k), p.accuracy(k), 1e-6);
    for (std::size_t j = 0; j < 4; ++j) {
      for (std::size_t l = 0; l < 4; ++l) EXPECT_NEAR(q.alpha(k, j, l), p.alpha(k, j, l), 1e-6);
    }
  }
  EXPECT_EQ(written(q), written(read_back(written(q))));
}

TEST(AnnotatorPosteriors, WhoErrsAlikeComesBackFromTheFileInTheCrowdsOrderAndNotFromAMerge) {
  const RandomCrowd data(5, 10, 4, 3);
  bdc::AnnotatorPosteriors p = learnt(data);
  p.alike = {{0, 2, 0.5}, {1, 3, 0.25}};
  const bdc::AnnotatorPosteriors q = read_back(written(p));
  ASSERT_EQ(q.alike.size(), 2U);
  EXPECT_EQ(q.alike[1].first, 1);
  EXPECT_EQ(q.alike[1].second, 3);
  EXPECT_EQ(q.alike[1].share, 0.25);
  bdc::CrowdData turned = data.crowd;
  std::reverse(turned.annotators.begin(), turned.annotators.end());
  turned.annotators.pop_back();  // the first one is not in this crowd
  const auto aligned = aligned_with(q, turned).alike;
  ASSERT_EQ(aligned.size(), 1U);
  EXPECT_EQ(aligned[0].first, 0);
  EXPECT_EQ(aligned[0].second, 2);
  EXPECT_EQ(aligned[0].share, 0.25);
  EXPECT_TRUE(merge(q, q).alike.empty());
  for (const char* bad : {"[[0, 4, 0.5]]", "[[2, 0, 0.5]]", "[[0, 1, 1.5]]", "[[0, 1]]", "[7]", "7"}) {
    json file = json::parse(written(p));
    file["alike"] = json::parse(bad);
    EXPECT_THROW((void)read_back(file.dump()), bdc::DataError) << bad;
  }
}

TEST(AnnotatorPosteriors, AHandWrittenFileIsRead) {
  const bdc::AnnotatorPosteriors p =
      bdc::read_annotator_posteriors(std::string(BDC_TEST_DATA "/bdc_core/data/annotators/annotators.json"));
  ASSERT_EQ(p.annotators.size(), 2u);
  EXPECT_EQ(p.annotators[0].name, "Ann");
  EXPECT_EQ(p.annotators[1].id.text, "7");
  EXPECT_TRUE(p.annotators[1].id.is_integer);
  EXPECT_EQ(p.annotators[1].images, 3);
  EXPECT_EQ(p.annotators[1].judged, 0);
  // A file of the first version: its figures are told as those of today's files are, whatever its priors were.
  EXPECT_NEAR(p.mean_recall(0), (1 + 10.5) / (2 + 11.5), 1e-12);
  EXPECT_NEAR(p.mean_spurious_per_image(0), 1.0 / 13, 1e-12);
  EXPECT_NEAR(p.mean_spurious_per_image(1), 0.5, 1e-12);
  EXPECT_NEAR(p.accuracy(0), (1 + 10.25) / (2 + 10.5), 1e-12);
  EXPECT_NEAR(p.alpha(0, 1, 0), 0.35, 1e-12);
  EXPECT_NEAR(p.box(0).mean[1], -0.2 / 20.5, 1e-12);
}

TEST(AnnotatorPosteriors, MergingAddsEvidenceByIdAndClassName) {
  const RandomCrowd c(2, 40, 5, 4);
  const bdc::AnnotatorPosteriors a = learnt(c, "paper");
  bdc::AnnotatorPosteriors b = learnt(RandomCrowd(3, 40, 5, 4), "paper");
  b.annotators[0].id.text = "newcomer";
  std::swap(b.classes[0], b.classes[3]);  // the same names in another order
  const bdc::AnnotatorPosteriors both = bdc::merge(a, b);
  ASSERT_EQ(both.annotators.size(), 6u);
  ASSERT_EQ(both.classes.size(), 4u);
  EXPECT_EQ(both.annotators[5].id.text, "newcomer");
  EXPECT_EQ(both.annotators[1].box.count, a.annotators[1].box.count + b.annotators[1].box.count);
  EXPECT_NEAR(both.alpha(1, 0, 3) - 1, (a.alpha(1, 0, 3) - 1) + (b.alpha(1, 3, 0) - 1), 1e-12);
  EXPECT_NEAR(both.alpha(0, 2, 2), a.alpha(0, 2, 2), 1e-12);
  EXPECT_NEAR(both.alpha(5, 0, 0), b.alpha(0, 3, 3), 1e-12);

  const bdc::AnnotatorPosteriors reversed = bdc::merge(b, a);
  const std::size_t k = reversed.find(both.annotators[2].id);
  EXPECT_NEAR(reversed.accuracy(k), both.accuracy(2), 1e-12);
  EXPECT_EQ(reversed.annotators[k].found, both.annotators[2].found);
}

/// What is learnt with a prior is this project's evidence alone: merged with the prior's file, nothing counts twice.
TEST(AnnotatorPosteriors, APriorIsNotInTheEvidenceThatIsLearntWithIt) {
  const RandomCrowd c(2, 40, 5, 4);
  for (const char* profile : {"paper", "reference", "absence_aware"}) {
    bdc::FitInput input;
    input.crowd = &c.crowd;
    const auto method = bdc::make_learner("bdc", {{"profile", profile}});
    const bdc::AnnotatorPosteriors first = *method->fit(input).posteriors;
    input.prior = &first;
    const bdc::AnnotatorPosteriors second = *method->fit(input).posteriors, both = bdc::merge(first, second);
    for (std::size_t k = 0; k < first.annotators.size(); ++k) {
      const auto &a = first.annotators[k], &b = second.annotators[k];
      EXPECT_EQ(b.images, a.images) << profile;
      EXPECT_EQ(b.annotations, a.annotations) << profile;
      EXPECT_LE(b.box.count, a.annotations) << profile << ": at most as many errors as boxes";
      EXPECT_GT(b.box.count, 0) << profile;
      EXPECT_EQ(both.annotators[k].annotations, 2 * a.annotations) << profile;
      EXPECT_EQ(both.annotators[k].box.count, a.box.count + b.box.count) << profile;
    }
  }
}

/// Priors are settings: a merge keeps them once, so that two files of nothing are still nothing.
TEST(AnnotatorPosteriors, MergingDoesNotCountThePriorsTwice) {
  bdc::AnnotatorPosteriors nothing = learnt(RandomCrowd(2, 40, 5, 4));
  for (auto& annotator : nothing.annotators) {
    const bdc::ExternalId id = annotator.id;
    annotator = {};
    annotator.id = id;
  }
  std::fill(nothing.confusion.value.begin(), nothing.confusion.value.end(), 0.0);
  bdc::fit_recall_prior(nothing);
  const bdc::AnnotatorPosteriors both = bdc::merge(nothing, nothing);
  for (std::size_t k = 0; k < both.annotators.size(); ++k) {
    EXPECT_EQ(both.alpha(k, 0, 0), nothing.confusion_prior.diagonal);
    EXPECT_EQ(both.mean_recall(k), nothing.mean_recall(k));
    EXPECT_EQ(both.mean_spurious_per_image(k), nothing.mean_spurious_per_image(k));
    EXPECT_EQ(both.box(k).beta, nothing.box(k).beta);
  }
}

TEST(AnnotatorPosteriors, MergingKeepsClassesAndAnnotatorsOfOneFileOnly) {
  const bdc::AnnotatorPosteriors a = learnt(RandomCrowd(2, 40, 5, 4));
  bdc::AnnotatorPosteriors b = learnt(RandomCrowd(3, 40, 5, 4));
  b.classes[3].name = "only in b";
  b.annotators[4].id.text = "newcomer";
  b.annotators[1].name = "Bob";
  const bdc::AnnotatorPosteriors both = bdc::merge(a, b);
  ASSERT_EQ(both.classes.size(), 5u);
  EXPECT_EQ(both.classes[4].name, "only in b");
  ASSERT_EQ(both.annotators.size(), 6u);
  EXPECT_EQ(both.annotators[1].name, "Bob") << "the first name that is not empty";
  EXPECT_NEAR(both.alpha(0, 4, 4), b.alpha(0, 3, 3), 1e-12) << "a counts nothing for a class it does not know";
  EXPECT_NEAR(both.alpha(0, 3, 3), a.alpha(0, 3, 3), 1e-12);
  EXPECT_EQ(both.alpha(5, 3, 3), b.confusion_prior.diagonal) << "newcomer never met a's last class";
  EXPECT_EQ(both.annotators[4].images, a.annotators[4].images);
  EXPECT_EQ(both.annotators[5].images, b.annotators[4].images);
  EXPECT_EQ(both.annotators[2].images, a.annotators[2].images + b.annotators[2].images);
  EXPECT_EQ(both.annotators[2].judged, a.annotators[2].judged + b.annotators[2].judged);
}

TEST(AnnotatorPosteriors, WhatCannotBeMergedOrUsedNamesTheFilesAndThePlace) {
  const RandomCrowd c(2, 40, 5, 4);
  bdc::AnnotatorPosteriors a = learnt(c, "paper"), b = a;
  a.source = "monday.json";
  b.source = "tuesday.json";
  const auto message = [](const auto& work) {
    try {
      work();
    } catch (const bdc::DataError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(bdc::merge(a, b).source, "monday.json and tuesday.json");
  b.profile = "reference";
  EXPECT_EQ(message([&] {
              (void)bdc::merge(a, b);
            }).rfind("tuesday.json: /profile: expected \"paper\" as in monday.json, found \"reference\"; ", 0),
            0u);
  EXPECT_EQ(message([&] {
              bdc::require_profile(b, "paper");
            }).rfind("tuesday.json: /profile: expected \"paper\", the profile of this run, found \"reference\"", 0),
            0u);
  b.profile = "paper";
  b.confusion_prior.diagonal = 20;
  EXPECT_EQ(
      message([&] { (void)bdc::merge(a, b); }).rfind("tuesday.json: /priors: expected the priors of monday.json", 0),
      0u);
  bdc::CrowdData crowd = c.crowd;
  crowd.classes[2].name = "lorry";
  const std::string alien = message([&] { (void)bdc::aligned_with(a, crowd); });
  EXPECT_EQ(alien.rfind("monday.json: /classes/2: expected a class of this data set (\"", 0), 0u) << alien;
  EXPECT_NE(alien.find("\"lorry\""), std::string::npos) << alien;
}

TEST(AnnotatorPosteriors, AlignWithACrowdByIdAndName) {
  const RandomCrowd c(2, 40, 5, 4);
  const bdc::AnnotatorPosteriors p = learnt(c, "paper");
  bdc::CrowdData crowd = c.crowd;
  std::swap(crowd.annotators[0], crowd.annotators[4]);
  crowd.annotators.emplace_back();
  crowd.annotators.back().id.text = "newcomer";
  std::swap(crowd.classes[1], crowd.classes[2]);
  const bdc::AnnotatorPosteriors q = bdc::aligned_with(p, crowd);
  ASSERT_EQ(q.annotators.size(), 6u);
  EXPECT_EQ(q.annotators[0].box.count, p.annotators[4].box.count);
  EXPECT_NEAR(q.alpha(0, 1, 2), p.alpha(4, 2, 1), 1e-12);
  EXPECT_EQ(q.annotators[5].box.count, 0);
  EXPECT_NEAR(q.accuracy(5), 10.0 / 13, 1e-12) << "the prior's share of the diagonal";

  crowd.classes[1].name = "something else";
  EXPECT_THROW((void)bdc::aligned_with(p, crowd), bdc::DataError);
}

TEST(AnnotatorPosteriors, WhereAnIdHasAnotherNameTheNamesDecideOrNothingDoes) {
  const RandomCrowd c(2, 40, 5, 4);
  bdc::CrowdData crowd = c.crowd;
  bdc::AnnotatorPosteriors p = learnt(c);
  for (std::size_t k = 0; k < 5; ++k) crowd.annotators[k].name = p.annotators[k].name = "who" + std::to_string(k);
  bdc::Alignment how;
  EXPECT_EQ(bdc::aligned_with(p, crowd, &how).annotators[1].box.count, p.annotators[1].box.count);
  EXPECT_EQ(how.matched, 5u);
  EXPECT_FALSE(how.by_name);

  std::swap(crowd.annotators[1].name, crowd.annotators[3].name);
  const bdc::AnnotatorPosteriors q = bdc::aligned_with(p, crowd, &how);
  EXPECT_TRUE(how.by_name);
  EXPECT_EQ(q.annotators[1].box.count, p.annotators[3].box.count);
  EXPECT_EQ(q.annotators[3].box.count, p.annotators[1].box.count);
  EXPECT_EQ(q.annotators[1].id.text, crowd.annotators[1].id.text);

  crowd.annotators[4].name = "";  // nobody can say who that is
  EXPECT_THROW((void)bdc::aligned_with(p, crowd), bdc::DataError);
  crowd.annotators[4].name = "who0";  // twice
  EXPECT_THROW((void)bdc::aligned_with(p, crowd), bdc::DataError);
  for (auto& annotator : p.annotators) annotator.name = "";  // without names ids alone count
  EXPECT_EQ(bdc::aligned_with(p, crowd).annotators[1].box.count, p.annotators[1].box.count);
}

TEST(AnnotatorPosteriors, AnAnnotatorWhoIsAlwaysRightIsMoreAccurate) {
  bdc::AnnotatorPosteriors p;
  p.classes.resize(2);
  p.annotators.resize(2);
  p.confusion.num_classes = 2;
  p.confusion.begin = {0, 1, 2};
  p.confusion.label = {0, 1};
  p.confusion.value = {50, 0, 50, 0};  // 50 objects of class 0: given 0 by the first, 1 by the second
  EXPECT_NEAR(p.accuracy(0), 60.0 / 61, 1e-12);
  EXPECT_NEAR(p.accuracy(1), 10.0 / 61, 1e-12);
}

/// Every broken variant names the file and the place.
TEST(AnnotatorPosteriors, BrokenFilesSayWhatIsWrongAndWhere) {
  const json good = json::parse(written(learnt(RandomCrowd(1, 20, 3, 3))));
  const auto message = [](const std::string& text) {
    try {
      (void)read_back(text);
    } catch (const bdc::DataError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message(good.dump()), "no error");
  struct Broken {
    const char* pointer;
    json value;
    const char* expected;
  };
  const Broken variants[] = {
      {"/format", "something", "/format: expected \"bdc_annotators\""},
      {"/format", json::object(), "/format: expected \"bdc_annotators\", found an object"},
      {"/version", 3, "/version: expected 1 or 2, the versions that this program reads, found 3"},
      {"/version", "1", "/version: expected 1 or 2, the versions that this program reads, found \"1\""},
      {"/profile", 7, "/profile: expected a string, found 7"},
      {"/profile", "papre", "/profile: expected one of "},
      {"/priors/recall/a", 0, "/priors/recall/a: expected a positive number, found 0"},
      {"/priors/box/strength", 1e300, "/priors/box/strength: expected a number from 0 to 1e15, found 1e+300"},
      {"/priors/box/beta", 0, "/priors/box/beta: expected a positive number"},
      {"/priors/box/mean", json::array({1, 2, 3}), "/priors/box/mean: expected an array of 4 numbers"},
      {"/priors/box/full_covariance", "yes", "/priors/box/full_covariance: expected true or false"},
      {"/priors/confusion/diagonal", -1, "/priors/confusion/diagonal: expected a number from 0 to 1e15, found -1"},
      {"/classes", json::object(), "/classes: expected an array"},
      {"/classes/0/name", 1, "/classes/0/name: expected a string"},
      {"/annotators/1/id", 1.5, "/annotators/1/id: expected an integer or a string, found 1.5"},
      {"/annotators/1/id", good["annotators"][0]["id"], "/annotators/1/id: expected an id used once"},
      {"/annotators/1", 3, "/annotators/1: expected an object, found 3"},
      {"/annotators/1", json::array({1, 2}), "/annotators/1: expected an object, found an array of 2"},
      {"/annotators/1/name", json::array(), "/annotators/1/name: expected a string, found an empty array"},
      {"/annotators/1/annotations", 1e16, "/annotators/1/annotations: expected a number from 0 to 1e15, found 1e+16"},
      {"/annotators/1/existence/images", -1, "/annotators/1/existence/images: expected a number from 0 to 1e15"},
      {"/annotators/1/confusion", json::parse("[[0, 1, 2], [1, 1, 3], [0, 1, 4]]"),
       "/annotators/1/confusion/2: expected each pair of classes once, found [0, 1] again"},
      {"/annotators/1/confusion", 0, "/annotators/1/confusion: expected an array, found 0"},
      {"/annotators/1/confusion/0", "x", "/annotators/1/confusion/0: expected [true class, given class"},
      {"/annotators/2/images", -4, "/annotators/2/images: expected a number from 0 to 1e15, found -4"},
      {"/annotators/2/box/count", "many", "/annotators/2/box/count: expected a number, found \"many\""},
      {"/annotators/0/box/deviation_products/0", -1, "/annotators/0/box/deviation_products: expected sums of squares"},
      {"/annotators/0/box/deviation_sum/0", 1e14, "/annotators/0/box/deviation_products: expected sums of squares"},
      {"/annotators/0/confusion/0", json::array({0, 1}),
       "/annotators/0/confusion/0: expected [true class, given class"},
      {"/annotators/0/confusion/0/1", 99, "/annotators/0/confusion/0: expected indices into the 3 classes"},
      {"/annotators/0/confusion/0/1", -1, "/annotators/0/confusion/0/1: expected an index"},
      {"/annotators/0/confusion/0/2", json(), "/annotators/0/confusion/0/2: expected a number, found null"},
      {"/annotators/0/existence/found", -0.5, "/annotators/0/existence/found: expected a number from 0"},
  };
  for (const Broken& b : variants) {
    json broken = good;
    broken[json::json_pointer(b.pointer)] = b.value;
    const std::string found = message(broken.dump());
    EXPECT_NE(found.find(b.expected), std::string::npos) << b.pointer << ": " << found;
    EXPECT_EQ(found.rfind("annotators.json: ", 0), 0u) << found;
  }
  json missing = good;
  missing["priors"].erase("box");
  EXPECT_NE(message(missing.dump()).find("/priors: expected the member \"box\", found none"), std::string::npos);
  for (const char* key : {"version", "profile", "priors", "classes", "annotators"}) {
    missing = good;
    missing.erase(key);
    EXPECT_EQ(message(missing.dump()), std::string("annotators.json: expected the member \"") + key + "\", found none");
  }
  for (const char* key : {"id", "images", "annotations", "box", "confusion"}) {
    missing = good;
    missing["annotators"][2].erase(key);
    EXPECT_EQ(message(missing.dump()),
              std::string("annotators.json: /annotators/2: expected the member \"") + key + "\", found none");
  }
  std::string huge = good.dump();
  huge.replace(huge.find("\"images\":") + 9, 1, "1e999,\"x\":");
  EXPECT_NE(message(huge).find("number overflow parsing '1e999'"), std::string::npos) << message(huge);
  EXPECT_EQ(message("{\"format\": \"bdc_annotators\", \"format\": 1}"),
            "annotators.json: expected the member \"format\" once, found it twice");
  const std::string deep(200000, '[');
  EXPECT_NE(message("{\"profile\": " + deep).find("found no JSON (line 1)"), std::string::npos);
  EXPECT_EQ(message(""), "annotators.json: expected a file that `aggregate --annotators` wrote, found an empty file");
  EXPECT_NE(
      message("[1, 2").find("annotators.json: expected a file that `aggregate --annotators` wrote, found no JSON"),
      std::string::npos);
  EXPECT_NE(message("[]").find("/format"), std::string::npos);
  EXPECT_NE(message(good.dump().substr(0, good.dump().size() / 2)).find("found no JSON"), std::string::npos);
}

}  // namespace
