// bdc, profile absence_aware: run_absence_aware behind the interface of all methods.
#include <algorithm>
#include <string>

#include "bdc/core/absence_aware.h"
#include "bdc/core/error.h"
#include "bdc/core/method.h"
#include "methods/image_method.h"

namespace bdc {
namespace {

constexpr const char* kProfile = "absence_aware";

/// Priors as they stand in a file of posteriors. The fit has priors of its own, fitted to the crowd; these are the
/// constants it starts from, the same for every crowd, so that files of different crowds can be merged.
void set_priors(AnnotatorPosteriors& p) {
  const AbsenceAwarePriors start;
  p.profile = kProfile;
  p.box_prior.mean = {};
  p.box_prior.strength = start.bias_strength[0];
  p.box_prior.upsilon = start.precision_shape[0];
  p.box_prior.beta = start.precision_rate[0];
  p.box_prior.full_covariance = false;
  p.confusion_prior = {3, 0.1};
  p.has_existence = true;
  p.recall_prior = {start.recall_a, start.recall_b};
  p.spurious_prior = {start.spurious_shape, start.spurious_rate};
}

/// Evidence of the annotators as a file holds it: box errors are those of the edges x1, y1, x2, y2 in box sizes.
AnnotatorPosteriors to_posteriors(const CrowdData& crowd, AbsenceAwareEvidence evidence) {
  AnnotatorPosteriors p;
  set_priors(p);
  p.classes = crowd.classes;
  const std::size_t K = crowd.annotators.size();
  p.annotators.resize(K);
  for (std::size_t k = 0; k < K; ++k) {
    const SourceEvidence& s = evidence.source[k];
    AnnotatorEvidence& a = p.annotators[k];
    a.id = crowd.annotators[k].id;
    a.name = crowd.annotators[k].name;
    a.images = s.images;
    a.found = s.found;
    a.missed = s.missed;
    a.spurious = s.spurious;
    // Outlier weights have mean 1 where the fit has converged, so the number of boxes stands for their sum.
    a.box.count = s.boxes;
    for (std::size_t e = 0; e < 4; ++e) {
      const double mean_weight = s.boxes > 0 ? std::max(s.weight[e] / s.boxes, 1e-12) : 1.0;
      a.box.sum[e] = s.error[e] / mean_weight;
      a.box.cross[packed(e, e)] = s.square[e];
    }
  }
  for (const Annotation& a : crowd.annotations) p.annotators[static_cast<std::size_t>(a.annotator)].annotations += 1;
  p.confusion = std::move(evidence.confusion);
  p.confusion.begin.resize(K + 1);  // without the detector
  p.confusion.label.resize(p.confusion.begin[K]);
  p.confusion.value.resize(p.confusion.begin[K] * crowd.classes.size());
  return p;
}

AbsenceAwareEvidence to_evidence(const AnnotatorPosteriors& p) {
  AbsenceAwareEvidence evidence;
  for (const AnnotatorEvidence& a : p.annotators) {
    SourceEvidence s;
    s.images = a.images;
    s.found = a.found;
    s.missed = a.missed;
    s.spurious = a.spurious;
    s.boxes = a.box.count;
    for (std::size_t e = 0; e < 4; ++e) {
      s.weight[e] = a.box.count;
      s.error[e] = a.box.sum[e];
      // A sum of squares is at least the square of the sum over the count; rounding in a file must not undo that.
      const double least = a.box.count > 0 ? a.box.sum[e] * a.box.sum[e] / a.box.count : 0.0;
      s.square[e] = std::max(a.box.cross[packed(e, e)], least);
    }
    evidence.source.push_back(s);
  }
  evidence.confusion = p.confusion;
  evidence.class_count.assign(p.classes.size(), 0.0);
  return evidence;
}

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
      if (input.prior->profile != kProfile) {
        throw DataError("the prior was learnt with the profile \"" + input.prior->profile + "\", this is \"" +
                        kProfile + "\": they measure box errors differently; use the same profile");
      }
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
          "most images were seen by one annotator only: nothing can tell missed or invented objects from real ones, so "
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
