// bdc, profile absence_aware: run_absence_aware behind the interface of all methods.
#include <algorithm>
#include <string>

#include "bdc/base/error.h"
#include "bdc/learn/bdc/absence_aware.h"
#include "bdc/learn/method.h"
#include "learn/bdc/absence_aware/annotator_file.h"
#include "learn/simple/image_method.h"

namespace bdc {
namespace {

using absence_aware::kProfile;
using absence_aware::to_evidence;
using absence_aware::to_posteriors;

class AbsenceAware : public AggregationMethod {
 public:
  explicit AbsenceAware(const MethodOptions& options)
      : max_rounds_(options.integer("max_rounds", 1, 1000000)),
        tolerance_(options.number("tolerance", 0, 1)),
        min_existence_(options.number("min_existence", 0, 1)) {}

  [[nodiscard]] AggregationResult aggregate(const AggregationInput& input) const override {
    check_input(input);
    AbsenceAwareOptions options;
    options.max_rounds = max_rounds_;
    options.tolerance = tolerance_;
    options.min_existence = min_existence_;
    options.threads = input.threads;
    options.keep_log_confusion = false;
    AbsenceAwareEvidence prior;
    if (input.prior != nullptr) {
      require_profile(*input.prior, kProfile);
      prior = to_evidence(aligned_with(*input.prior, *input.crowd));
      options.prior_evidence = &prior;
    }
    if (input.progress) {
      options.progress = [&](int round, double bound, double change) {
        Progress progress;
        progress.round = round;
        progress.max_rounds = max_rounds_;
        progress.bound = bound;
        progress.change = change;
        progress.images_done = progress.images = input.crowd->images.size();
        input.progress(progress);
      };
    }
    AbsenceAwareResult fit = run_absence_aware(*input.crowd, input.predictions, options);
    AggregationResult result;
    result.targets = std::move(fit.targets);
    result.bound = std::move(fit.bound);
    result.rounds = fit.rounds;
    result.converged = fit.converged;
    if (!fit.converged) {
      result.warnings.push_back("the bound had not settled after " + std::to_string(fit.rounds) +
                                " rounds; raise max_rounds");
    }
    if (fit.skipped_boxes > 0) {
      result.warnings.push_back(std::to_string(fit.skipped_boxes) +
                                " boxes are empty, inverted or not finite and were left out; `validate` lists them");
    }
    if (!fit.beliefs.corroborated) {
      result.warnings.push_back(
          "most images were seen by one annotator only (those who never drew a box not counted): nothing can tell "
          "missed or invented objects from real ones, so "
          "boxes in such images keep a fixed probability of being real");
    }
    result.posteriors = to_posteriors(*input.crowd, std::move(fit.evidence));
    return result;
  }

 private:
  int max_rounds_;
  double tolerance_, min_existence_;
};

}  // namespace

MethodEntry absence_aware_profile() {
  MethodEntry entry;
  entry.name = kProfile;
  entry.description = "one model of recall, inventions, boxes and classes; the detector is one more source";
  entry.options = {{"max_rounds", "50", "rounds after which to stop at the latest", {}, false},
                   {"tolerance", "0.000001", "relative rise of the bound below which to stop", {}, false},
                   {"min_existence", "1e-6", "objects less probable than this are left out", {}, false}};
  entry.create = [](const MethodOptions& options) { return std::make_unique<AbsenceAware>(options); };
  return entry;
}

}  // namespace bdc
