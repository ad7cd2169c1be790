#include "bdc/core/annotator_posteriors.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "bdc/core/error.h"
#include "bdc/core/method.h"
#include "random_crowd.h"

namespace {

using nlohmann::json;

bdc::AnnotatorPosteriors learnt(const RandomCrowd& c) {
  bdc::AggregationInput input;
  input.crowd = &c.crowd;
  bdc::AnnotatorPosteriors p = *bdc::make_method("bdc", {{"profile", "paper"}})->aggregate(input).posteriors;
  for (std::size_t k = 0; k < p.annotators.size(); ++k) {
    p.annotators[k].found = 3.25 + static_cast<double>(k);
    p.annotators[k].missed = 1.5;
    p.annotators[k].spurious = 0.75;
  }
  p.has_existence = true;
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

TEST(AnnotatorPosteriors, MergingAddsEvidenceByIdAndClassName) {
  const RandomCrowd c(2, 40, 5, 4);
  const bdc::AnnotatorPosteriors a = learnt(c);
  bdc::AnnotatorPosteriors b = learnt(RandomCrowd(3, 40, 5, 4));
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

  b.profile = "reference";
  EXPECT_THROW((void)bdc::merge(a, b), bdc::DataError);
  b.profile = "paper";
  b.confusion_prior.diagonal = 20;
  EXPECT_THROW((void)bdc::merge(a, b), bdc::DataError);
}

TEST(AnnotatorPosteriors, AlignWithACrowdByIdAndName) {
  const RandomCrowd c(2, 40, 5, 4);
  const bdc::AnnotatorPosteriors p = learnt(c);
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
      {"/version", 2, "/version: expected 1"},
      {"/profile", 7, "/profile: expected a string, found 7"},
      {"/priors/box/beta", 0, "/priors/box/beta: expected a positive number"},
      {"/priors/box/mean", json::array({1, 2, 3}), "/priors/box/mean: expected an array of 4 numbers"},
      {"/priors/box/full_covariance", "yes", "/priors/box/full_covariance: expected true or false"},
      {"/priors/confusion/diagonal", -1, "/priors/confusion/diagonal: expected a finite number"},
      {"/classes", json::object(), "/classes: expected an array"},
      {"/classes/0/name", 1, "/classes/0/name: expected a string"},
      {"/annotators/1/id", 1.5, "/annotators/1/id: expected an integer or a string, found 1.5"},
      {"/annotators/1/id", good["annotators"][0]["id"], "/annotators/1/id: expected an id used once"},
      {"/annotators/1", 3, "/annotators/0: expected an object, found 3"},
      {"/annotators/2/images", -4, "/annotators/2/images: expected a finite number of at least 0"},
      {"/annotators/2/box/count", "many", "/annotators/2/box/count: expected a number, found \"many\""},
      {"/annotators/0/box/deviation_products/0", -1, "/annotators/0/box/deviation_products: expected sums of squares"},
      {"/annotators/0/box/deviation_sum/0", 1e200, "/annotators/0/box/deviation_products: expected sums of squares"},
      {"/annotators/0/confusion/0", json::array({0, 1}),
       "/annotators/0/confusion/0: expected [true class, given class"},
      {"/annotators/0/confusion/0/1", 99, "/annotators/0/confusion/0: expected indices into the 3 classes"},
      {"/annotators/0/confusion/0/1", -1, "/annotators/0/confusion/0/1: expected an index"},
      {"/annotators/0/confusion/0/2", json(), "/annotators/0/confusion/0/2: expected a number, found null"},
      {"/annotators/0/existence/found", -0.5, "/annotators/0/existence/found: expected a finite number"},
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
  EXPECT_NE(message(missing.dump()).find("/priors: expected a member \"box\""), std::string::npos);
  EXPECT_NE(message("").find("annotators.json: expected a JSON file"), std::string::npos);
  EXPECT_NE(message("[1, 2").find("annotators.json: expected a JSON file"), std::string::npos);
  EXPECT_NE(message("[]").find("/format"), std::string::npos);
  EXPECT_NE(message(good.dump().substr(0, good.dump().size() / 2)).find("expected a JSON file"), std::string::npos);
}

}  // namespace
