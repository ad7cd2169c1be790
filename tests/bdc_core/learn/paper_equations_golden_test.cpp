#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "bdc_core/learn/bdc_golden.h"

namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-8;

void compare_terms(const bdc::BoundTerms& terms, const json& expected) {
  EXPECT_TRUE(close(terms.e_ln_p_c, expected["E_ln_p_c"], kTolerance));
  EXPECT_TRUE(close(terms.e_ln_p_t, expected["E_ln_p_t"], kTolerance));
  EXPECT_TRUE(close(terms.e_ln_p_pi, expected["E_ln_p_pi"], kTolerance));
  EXPECT_TRUE(close(terms.e_ln_q_t, expected["E_ln_q_t"], kTolerance));
  EXPECT_TRUE(close(terms.e_ln_q_pi, expected["E_ln_q_pi"], kTolerance));
}

struct Steps : BdcGolden {
  json golden = golden_crowd("paper_equations.json");
  std::unique_ptr<bdc::PaperModel> model = bdc::make_paper_model(crowd, bdc::paper_parameters());
  bdc::BdcModel::Workspace workspace;

  void compare_rows(std::size_t image, const json& rows, const char* when) const {
    ASSERT_EQ(model->num_objects(image), rows.size());
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const bdc::BdcObject& object = model->object(image, n);
      EXPECT_EQ(object.prediction, rows[n]["prediction"].get<int>());
      const double box[4] = {object.box.cx, object.box.cy, object.box.w, object.box.h};
      const json& expected_box = rows[n][std::string("box_") + when];
      for (std::size_t c = 0; c < 4; ++c) EXPECT_TRUE(close(box[c], expected_box[c], kTolerance)) << image;
      const json& expected_rho = rows[n][std::string("rho_") + when];
      for (std::size_t j = 0; j < J; ++j) {
        EXPECT_TRUE(close(model->class_probs(image, n)[j], expected_rho[j], kTolerance)) << image;
      }
      EXPECT_TRUE(close(model->weight(image, n), rows[n]["gamma"], kTolerance));
      std::vector<std::size_t> members;
      std::set<std::int32_t> annotators;
      const std::size_t first = crowd.annotation_begin[image];
      for (std::size_t a = first; a < crowd.annotation_begin[image + 1]; ++a) {
        if (model->object_of(a) != static_cast<std::int32_t>(n)) continue;
        members.push_back(a - first);
        annotators.insert(crowd.annotations[a].annotator);
      }
      EXPECT_EQ(json(members), rows[n]["annotations"]);
      EXPECT_EQ(object.matched, rows[n]["matched"].get<int>());
      EXPECT_EQ(annotators.size(), rows[n]["matched_annotators"].get<std::size_t>());
    }
  }
};

TEST(PaperEquationsGolden, ThreeStepsAgreeInEveryField) {
  Steps s;
  for (std::size_t step = 0; step < s.golden["steps"].size(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const json& expected = s.golden["steps"][step];
    const auto predictions = s.predictions(step);
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      s.model->aggregate_image(i, predictions[i].view(), s.workspace);
      const std::size_t first = s.crowd.annotation_begin[i];
      for (std::size_t a = 0; a < expected["match"][i].size(); ++a) {
        const std::int32_t object = s.model->object_of(first + a);
        const int matched = object < 0 ? -1 : s.model->object(i, static_cast<std::size_t>(object)).prediction;
        EXPECT_EQ(matched, expected["match"][i][a].get<int>()) << "image " << i << " annotation " << a;
      }
      s.compare_rows(i, expected["aggregated"][i], "before");
    }
    EXPECT_TRUE(close(s.model->bound_terms(1).total(), expected["elbo_rho_before_alpha_old"], kTolerance));

    const bdc::BdcUpdate update = s.model->update(1);
    EXPECT_TRUE(close(update.bound, expected["elbo_rho_before_alpha_new"], kTolerance));
    EXPECT_TRUE(close(s.model->bound_terms(2).total(), expected["elbo_rho_before_alpha_new"], kTolerance));
    compare_terms(s.model->bound_terms(1), expected["elbo_terms_rho_before_alpha_new"]);

    const bdc::AnnotatorPosteriors posteriors = s.model->posteriors("paper", 1);
    for (std::size_t k = 0; k < s.K; ++k) {
      const bdc::BoxPosterior& box = s.model->box_posterior(k);
      EXPECT_TRUE(close(posteriors.annotators[k].box.count, expected["M"][k], kTolerance));
      EXPECT_TRUE(close(box.upsilon, expected["upsilon"][k], kTolerance));
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_TRUE(close(box.mean[i], expected["mu"][k][i], kTolerance));
        for (std::size_t j = 0; j < 4; ++j) {
          EXPECT_TRUE(close(box.beta[bdc::packed(i, j)], expected["beta"][k][i][j], kTolerance));
        }
      }
      for (std::size_t j = 0; j < s.J; ++j) {
        for (std::size_t l = 0; l < s.J; ++l) {
          EXPECT_TRUE(close(posteriors.alpha(k, j, l), expected["alpha"][k][j][l], kTolerance));
        }
      }
    }

    for (std::size_t i = 0; i < predictions.size(); ++i) {
      s.model->reaggregate_image(i, predictions[i].view(), s.workspace);
      s.compare_rows(i, expected["aggregated"][i], "after");
    }
    EXPECT_TRUE(close(s.model->bound_terms(1).total(), expected["elbo_rho_after_alpha_new"], kTolerance));
    compare_terms(s.model->bound_terms(1), expected["elbo_terms_rho_after_alpha_new"]);
  }
}

TEST(PaperEquationsGolden, AlternationFromThePriorFollowsTheRecordedBound) {
  for (std::size_t step = 0; step < 3; ++step) {
    Steps s;
    const json& expected = s.golden["steps"][step]["alternation_from_prior"];
    const auto predictions = s.predictions(step);
    std::vector<double> elbo;
    for (int round = 0; round < 25; ++round) {
      for (std::size_t i = 0; i < predictions.size(); ++i) {
        if (round == 0) {
          s.model->aggregate_image(i, predictions[i].view(), s.workspace);
        } else {
          s.model->reaggregate_image(i, predictions[i].view(), s.workspace);
        }
      }
      elbo.push_back(s.model->bound_terms(1).total());
      elbo.push_back(s.model->update(1).bound);
    }
    ASSERT_EQ(elbo.size(), expected["elbo"].size());
    for (std::size_t n = 0; n < elbo.size(); ++n) {
      EXPECT_TRUE(close(elbo[n], expected["elbo"][n], kTolerance)) << n;
      if (n > 0) {
        EXPECT_GE(elbo[n], elbo[n - 1] - 1e-9);
      }
    }
    const bdc::AnnotatorPosteriors posteriors = s.model->posteriors("paper", 1);
    for (std::size_t j = 0; j < s.J; ++j) {
      for (std::size_t l = 0; l < s.J; ++l) {
        EXPECT_TRUE(close(posteriors.alpha(0, j, l), expected["alpha_annotator0_after_25"][j][l], kTolerance));
      }
    }
    const json& check = s.golden["elbo_monotone_check"][step];
    EXPECT_EQ(check["step"].get<std::size_t>(), step);
    EXPECT_EQ(check["half_updates"].get<std::size_t>(), elbo.size());
    EXPECT_TRUE(close(elbo.front(), check["first"], kTolerance));
    EXPECT_TRUE(close(elbo.back(), check["last"], kTolerance));
  }
}

}  // namespace
