#include <algorithm>
#include <cmath>
#include <limits>

#include "model_with_rules.h"

namespace bdc {
namespace {

/// The published equations: matcher, box errors, confusion matrices.
struct PaperRules {
  static constexpr bool keeps_posterior_without_matches = false;
  static constexpr bool exact_bound = true;

  /// p = scores / sum; ln p = ln score - ln sum. A score that is not positive counts as the smallest number there is.
  static double log_prior(const double* scores, std::size_t J, double* p, double* log_p) {
    double sum = 0;
    for (std::size_t j = 0; j < J; ++j) {
      p[j] = std::max(scores[j], std::numeric_limits<double>::min());
      log_p[j] = std::log(p[j]);
      sum += p[j];
    }
    const double inverse = 1 / sum;
    for (std::size_t j = 0; j < J; ++j) p[j] *= inverse;
    return std::log(sum);
  }

  static void match(const MatchProblem& problem, Span<const std::int32_t>, const MatchCost& cost,
                    BdcModel::Workspace& ws) {
    match_one_to_many(problem, cost, ws.match.data());
  }

  static std::array<double, 4> error(const CenterBox& annotation, const CenterBox& prediction) {
    return {prediction.cx - annotation.cx, prediction.cy - annotation.cy, prediction.w / annotation.w,
            prediction.h / annotation.h};
  }

  static CenterBox corrected(const CenterBox& b, const CenterBox&, const std::array<double, 4>& mean) {
    return {b.cx + mean[0], b.cy + mean[1], b.w * mean[2], b.h * mean[3]};
  }

  static double weight(std::int32_t matched, std::int32_t, std::size_t annotators) {
    return static_cast<double>(matched) / static_cast<double>(annotators);
  }

  static CenterBox finish(const CenterBox& box) { return box; }
};

class PublishedModel final : public ModelWithRules<PaperRules, PaperModel> {
 public:
  using ModelWithRules::ModelWithRules;
  [[nodiscard]] BoundTerms bound_terms(int threads) const override { return present_bound(threads); }
};

}  // namespace

BdcParameters paper_parameters() {
  BdcParameters parameters;
  parameters.box.mean = {0, 0, 1, 1};
  return parameters;
}

std::unique_ptr<PaperModel> make_paper_model(const CrowdData& crowd, const BdcParameters& parameters,
                                             const AnnotatorPosteriors* prior, Span<const std::int32_t> max_objects) {
  return std::make_unique<PublishedModel>(crowd, parameters, prior, max_objects);
}

}  // namespace bdc
