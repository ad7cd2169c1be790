#pragma once

#include "bdc/learn/bdc/absence_aware.h"
#include "learn/bdc/absence_aware/edge_noise.h"
#include "learn/bdc/absence_aware/image_state.h"

/// Expected sufficient statistics of the candidates as they stand.
namespace bdc::absence_aware {

/// What is counted: all, or only what the sources' posteriors need.
enum class Counted { all, for_posteriors };

/// Adds one box of a source, a member of candidate c of an image that is not blank, `lone` or not.
void add_box(double tail, const SourceBelief& belief, const Item& item, const Candidate& c, bool lone, Counted what,
             SourceEvidence& sums);

/// Sum of existence x (1 - existence).
[[nodiscard]] double doubt_of(const ImageState& state);

/// Adds everything an image tells but the labels: SourceEvidence::missed is the sum over looks of the objects that were
/// there, less those found.
void add_image_sums(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state, Counted what,
                    AbsenceAwareEvidence& evidence);

/// Adds everything an image tells.
void add_image(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state,
               AbsenceAwareEvidence& evidence);

}  // namespace bdc::absence_aware
