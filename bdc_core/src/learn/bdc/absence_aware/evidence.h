#pragma once

#include "bdc/learn/bdc/absence_aware.h"
#include "learn/bdc/absence_aware/edge_noise.h"
#include "learn/bdc/absence_aware/image_state.h"

/// Expected sufficient statistics of the candidates as they stand.
namespace bdc::absence_aware {

/// Adds one box of a source, a member of candidate c of an image that is not blank, `lone` or not. counts: the source's
/// confusion columns start at `first_column`.
void add_box(const TailTerms& tail, const SourceBelief& belief, const Item& item, const Candidate& c,
             std::size_t classes, std::size_t first_column, bool lone, SourceEvidence& sums, double* counts);

/// Sum of existence x (1 - existence).
[[nodiscard]] double doubt_of(const ImageState& state);

/// Adds what does not belong to a single source: classes, objects, score levels.
void add_image_totals(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state,
                      AbsenceAwareEvidence& evidence);

/// Adds everything an image tells.
void add_image(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state,
               AbsenceAwareEvidence& evidence);

}  // namespace bdc::absence_aware
