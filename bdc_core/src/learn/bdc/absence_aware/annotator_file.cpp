#include "learn/bdc/absence_aware/annotator_file.h"

#include <algorithm>

namespace bdc::absence_aware {
namespace {

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
  set_figure_priors(p);
}

}  // namespace

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
    a.judged = s.images;
    a.found = s.found;
    a.loose = s.loose;
    a.found_doubt = s.found_doubt;
    a.missed_doubt = s.missed_doubt;
    a.missed = s.missed;
    a.spurious = s.spurious;
    // Outlier weights have mean 1 where the fit has converged, so the number of boxes stands for their sum.
    a.box.count = s.boxes;
    for (std::size_t e = 0; e < 4; ++e) {
      const double mean_weight = s.boxes > 0 ? std::max(s.weight[e] / s.boxes, 1e-12) : 1.0;
      a.box.sum[e] = s.error[e] / mean_weight;
      // Before it has, the squares must not be less than that mean allows: readers of the file check it.
      const double least = s.boxes > 0 ? a.box.sum[e] * a.box.sum[e] / s.boxes : 0.0;
      a.box.cross[packed(e, e)] = std::max(s.square[e], least);
    }
  }
  for (const Assignment& a : crowd.assignments) p.annotators[static_cast<std::size_t>(a.annotator)].images += 1;
  for (const Annotation& a : crowd.annotations) p.annotators[static_cast<std::size_t>(a.annotator)].annotations += 1;
  p.confusion = std::move(evidence.confusion);
  p.confusion.begin.resize(K + 1);  // without the detector
  p.confusion.label.resize(p.confusion.begin[K]);
  p.confusion.value.resize(p.confusion.begin[K] * crowd.classes.size());
  fit_recall_prior(p);
  return p;
}

AbsenceAwareEvidence to_evidence(const AnnotatorPosteriors& p) {
  AbsenceAwareEvidence evidence;
  for (const AnnotatorEvidence& a : p.annotators) {
    SourceEvidence s;
    s.images = a.judged;
    s.found = a.found;
    s.loose = a.loose;
    s.found_doubt = a.found_doubt;
    s.missed_doubt = a.missed_doubt;
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

}  // namespace bdc::absence_aware
