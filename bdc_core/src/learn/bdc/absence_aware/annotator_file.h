#pragma once

#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/bdc/absence_aware.h"

namespace bdc::absence_aware {

inline constexpr const char* kProfile = "absence_aware";

/// Evidence of the annotators as a file holds it: box errors are those of the edges x1, y1, x2, y2 in box sizes.
[[nodiscard]] AnnotatorPosteriors to_posteriors(const CrowdData& crowd, AbsenceAwareEvidence evidence);

/// The way back; class counts and object rate are not in a file and stay 0.
[[nodiscard]] AbsenceAwareEvidence to_evidence(const AnnotatorPosteriors& p);

}  // namespace bdc::absence_aware
