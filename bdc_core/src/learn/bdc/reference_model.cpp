#include <algorithm>
#include <cmath>

#include "model_with_rules.h"

namespace bdc {
namespace {

/// What the authors' released program computes.
struct ReferenceRules {
  static constexpr bool keeps_posterior_without_matches = true;
  static constexpr bool exact_bound = false;

  /// The scores are taken as logits: p = softmax(scores).
  static double log_prior(const double* scores, std::size_t J, double* p, double* log_p) {
    const double highest = *std::max_element(scores, scores + J);
    double sum = 0;
    for (std::size_t j = 0; j < J; ++j) {
      log_p[j] = scores[j];
      p[j] = std::exp(scores[j] - highest);
      sum += p[j];
    }
    const double inverse = 1 / sum;
    for (std::size_t j = 0; j < J; ++j) p[j] *= inverse;
    return highest + std::log(sum);
  }

  static void match(const MatchProblem& problem, Span<const std::int32_t> previous, const MatchCost& cost,
                    BdcModel::Workspace& ws) {
    ws.taken_by.resize(problem.predictions.size());
    match_one_per_annotator(problem, previous, cost, ws.taken_by.data(), ws.match.data());
  }

  static std::array<double, 4> error(const CenterBox& a, const CenterBox& p) {
    return {(a.cx - p.cx) / p.w, (a.cy - p.cy) / p.h, a.w / p.w - 1, a.h / p.h - 1};
  }

  static CenterBox corrected(const CenterBox& b, const CenterBox& p, const std::array<double, 4>& mean) {
    return {b.cx - mean[0] * p.w, b.cy - mean[1] * p.h, b.w / (1 + mean[2]), b.h / (1 + mean[3])};
  }

  static double weight(std::int32_t matched, std::int32_t drawers, std::size_t) {
    return static_cast<double>(matched) / static_cast<double>(drawers);
  }

  /// Clipped to the image.
  static CenterBox finish(const CenterBox& box) {
    const Box b = to_corners(box);
    return to_center({std::clamp(b.x1, 0.0, 1.0), std::clamp(b.y1, 0.0, 1.0), std::clamp(b.x2, 0.0, 1.0),
                      std::clamp(b.y2, 0.0, 1.0)});
  }
};

}  // namespace

BdcParameters reference_parameters() {
  BdcParameters parameters;
  parameters.box.strength = 10;
  parameters.box.full_covariance = false;
  parameters.box_mean_limit = {0.5, 0.5, 0.9, 0.9};
  parameters.min_weight = 0.3;
  return parameters;
}

std::unique_ptr<BdcModel> make_reference_model(const CrowdData& crowd, const BdcParameters& parameters,
                                               const AnnotatorPosteriors* prior, Span<const std::int32_t> max_objects) {
  return std::make_unique<ModelWithRules<ReferenceRules, BdcModel>>(crowd, parameters, prior, max_objects);
}

}  // namespace bdc
