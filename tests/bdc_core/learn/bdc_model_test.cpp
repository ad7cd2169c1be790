#include "bdc/learn/bdc/bdc_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "bdc/base/parallel.h"
#include "bdc/base/special_functions.h"
#include "support/random_crowd.h"

namespace {

bdc::ImagePredictions predictions_of(const RandomCrowd& c, std::size_t image) {
  const std::size_t first = c.predictions.begin[image], count = c.predictions.begin[image + 1] - first;
  return {{c.predictions.box.data() + first, count}, c.predictions.class_probs.data() + first * c.crowd.classes.size()};
}

void aggregate_all(bdc::BdcModel& model, const RandomCrowd& c, bool again = false) {
  bdc::BdcModel::Workspace workspace;
  for (std::size_t i = 0; i < c.crowd.images.size(); ++i) {
    if (again) {
      model.reaggregate_image(i, predictions_of(c, i), workspace);
    } else {
      model.aggregate_image(i, predictions_of(c, i), workspace);
    }
  }
}

class RandomProblem : public ::testing::TestWithParam<unsigned> {
 protected:
  RandomCrowd c{GetParam(), 15, 2 + static_cast<int>(GetParam() % 7), 1 + static_cast<int>(GetParam() % 9)};
};

TEST_P(RandomProblem, ClassPartOfTheBoundNeverFalls) {
  const auto model = bdc::make_paper_model(c.crowd, bdc::paper_parameters());
  double last = -std::numeric_limits<double>::infinity();
  for (int round = 0; round < 30; ++round) {
    aggregate_all(*model, c, round > 0);
    const double after_rho = model->bound_terms(1).total();
    const double after_alpha = model->update(1).bound;
    const double slack = 1e-10 * std::max(1.0, std::abs(after_rho));
    EXPECT_GE(after_rho, last - slack) << "rho update, round " << round;
    EXPECT_GE(after_alpha, after_rho - slack) << "alpha update, round " << round;
    last = after_alpha;
  }
}

TEST_P(RandomProblem, RhoIsTheEquationWrittenAsALoop) {
  const auto model = bdc::make_paper_model(c.crowd, bdc::paper_parameters());
  aggregate_all(*model, c);
  model->update(1);
  const bdc::AnnotatorPosteriors posteriors = model->posteriors("paper", 1);  // of this alpha
  aggregate_all(*model, c);
  const std::size_t J = c.crowd.classes.size();
  for (std::size_t i = 0; i < c.crowd.images.size(); ++i) {
    for (std::size_t n = 0; n < model->num_objects(i); ++n) {
      const double* p = predictions_of(c, i).scores + static_cast<std::size_t>(model->object(i, n).prediction) * J;
      std::vector<double> rho(J);
      for (std::size_t j = 0; j < J; ++j) {
        double log_rho = std::log(p[j]);
        for (std::size_t a = c.crowd.annotation_begin[i]; a < c.crowd.annotation_begin[i + 1]; ++a) {
          if (model->object_of(a) != static_cast<std::int32_t>(n)) continue;
          const auto k = static_cast<std::size_t>(c.crowd.annotations[a].annotator);
          double row = 0;
          for (std::size_t l = 0; l < J; ++l) row += posteriors.alpha(k, j, l);
          const auto given = static_cast<std::size_t>(c.crowd.annotations[a].label);
          log_rho += bdc::digamma(posteriors.alpha(k, j, given)) - bdc::digamma(row);
        }
        rho[j] = std::exp(log_rho);
      }
      const double sum = std::accumulate(rho.begin(), rho.end(), 0.0);
      double total = 0;
      for (std::size_t j = 0; j < J; ++j) {
        EXPECT_NEAR(model->class_probs(i, n)[j], rho[j] / sum, 1e-11);
        total += model->class_probs(i, n)[j];
      }
      EXPECT_NEAR(total, 1, 1e-12);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomProblem, ::testing::Range(1u, 51u));

enum class Order { kForward, kBackward };

/// Three rounds; the order of images and the number of threads are free.
std::pair<bdc::Targets, std::vector<double>> three_rounds(bdc::BdcModel& model, const RandomCrowd& c, Order order,
                                                          int threads) {
  std::vector<double> bounds;
  const std::size_t images = c.crowd.images.size();
  for (int round = 0; round < 3; ++round) {
    bdc::parallel_chunks(images, 3, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      bdc::BdcModel::Workspace workspace;
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t image = order == Order::kForward ? i : images - 1 - i;
        model.aggregate_image(image, predictions_of(c, image), workspace);
      }
    });
    bounds.push_back(model.update(threads).bound);
  }
  return {model.targets(), bounds};
}

TEST(BdcModel, SameBitsForAnyOrderOfImagesAndAnyNumberOfThreads) {
  const RandomCrowd c(7, 40, 6, 5);
  const auto run = [&](bool paper, Order order, int threads) {
    std::unique_ptr<bdc::BdcModel> model;
    if (paper) {
      model = bdc::make_paper_model(c.crowd, bdc::paper_parameters());
    } else {
      model = bdc::make_reference_model(c.crowd, bdc::reference_parameters());
    }
    return three_rounds(*model, c, order, threads);
  };
  for (const bool paper : {true, false}) {
    const auto one = run(paper, Order::kForward, 1);
    for (const auto& other :
         {run(paper, Order::kBackward, 1), run(paper, Order::kForward, 2), run(paper, Order::kForward, 5)}) {
      EXPECT_EQ(one.second, other.second);
      EXPECT_EQ(one.first.class_probs, other.first.class_probs);
      EXPECT_EQ(one.first.box, other.first.box);
      EXPECT_EQ(one.first.weight, other.first.weight);
    }
  }
}

TEST(BdcModel, APriorFromTheSameDataIsTheSameAsCountingItTwice) {
  const RandomCrowd c(3, 25, 5, 4);
  const auto first = bdc::make_paper_model(c.crowd, bdc::paper_parameters());
  aggregate_all(*first, c);
  first->update(1);
  const bdc::AnnotatorPosteriors prior = first->posteriors("paper", 1);

  const auto second = bdc::make_paper_model(c.crowd, bdc::paper_parameters(), &prior);
  for (std::size_t k = 0; k < c.crowd.annotators.size(); ++k) {
    EXPECT_EQ(second->box_posterior(k).mean, first->box_posterior(k).mean) << "the prior is the old posterior";
  }
  aggregate_all(*second, c);
  second->update(1);
  const bdc::AnnotatorPosteriors both = bdc::merge(prior, second->posteriors("paper", 1));
  for (std::size_t k = 0; k < c.crowd.annotators.size(); ++k) {
    EXPECT_EQ(both.annotators[k].box.count, 2 * prior.annotators[k].box.count);
    double total = 0, before = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      for (std::size_t l = 0; l < 4; ++l) {
        total += both.alpha(k, j, l);
        before += prior.alpha(k, j, l);
      }
    }
    const double plain_prior = 4 * 10 + 12;
    EXPECT_NEAR(total - plain_prior, 2 * (before - plain_prior), 1e-9);
  }
}

TEST(BdcModel, TheBoundWithAPriorNeverFallsEither) {
  const RandomCrowd c(11, 25, 5, 4);
  const auto first = bdc::make_paper_model(c.crowd, bdc::paper_parameters());
  aggregate_all(*first, c);
  first->update(1);
  const bdc::AnnotatorPosteriors prior = first->posteriors("paper", 1);
  const auto model = bdc::make_paper_model(c.crowd, bdc::paper_parameters(), &prior);
  EXPECT_NEAR(model->bound_terms(1).total(), 0, 1e-8) << "no evidence: q is the prior";
  double last = -std::numeric_limits<double>::infinity();
  for (int round = 0; round < 20; ++round) {
    aggregate_all(*model, c, round > 0);
    const double after_rho = model->bound_terms(1).total();
    const double after_alpha = model->update(1).bound;
    EXPECT_GE(after_rho, last - 1e-9);
    EXPECT_GE(after_alpha, after_rho - 1e-9);
    last = after_alpha;
  }
}

TEST(BdcModel, ObjectsWithoutAnnotationsAreNotTargets) {
  RandomCrowd c(2, 10, 4, 3);
  c.crowd.annotations.clear();
  c.crowd.assignments.clear();
  c.crowd.finalize();
  const auto model = bdc::make_reference_model(c.crowd, bdc::reference_parameters());
  aggregate_all(*model, c);
  model->update(1);
  EXPECT_TRUE(model->targets().box.empty());
  EXPECT_EQ(model->targets().begin.size(), c.crowd.images.size() + 1);
}

TEST(BdcModel, ForgettingAnImageRemovesItsEvidence) {
  const RandomCrowd c(4, 12, 4, 3);
  const auto model = bdc::make_reference_model(c.crowd, bdc::reference_parameters());
  aggregate_all(*model, c);
  for (std::size_t i = 1; i < c.crowd.images.size(); ++i) model->clear_image(i);
  model->update(1);
  const auto posteriors = model->posteriors("reference", 1);
  double counted = 0;
  for (const auto& annotator : posteriors.annotators) counted += annotator.box.count;
  std::size_t matched = 0;
  for (std::size_t a = 0; a < c.crowd.annotation_begin[1]; ++a) matched += model->object_of(a) >= 0;
  EXPECT_EQ(counted, static_cast<double>(matched));
}

TEST(BdcModel, SaysWhenAnImageHasMoreObjectsThanRoom) {
  const RandomCrowd c(4, 12, 4, 3);
  const std::vector<std::int32_t> room(c.crowd.images.size(), 0);
  const auto model = bdc::make_reference_model(c.crowd, bdc::reference_parameters(), nullptr, room);
  EXPECT_THROW(aggregate_all(*model, c), std::invalid_argument);
}

}  // namespace
