#pragma once

#include "learn/bdc/absence_aware/candidate.h"
#include "learn/bdc/absence_aware/image_state.h"

/// The partition of an image's items into candidates. Every accepted move raises the bound.
namespace bdc::absence_aware {

/// Lists, for every item, the items of other sources whose boxes overlap it (IoU at least a small gate, best ones first
/// when there are very many). Only these are tried together, so the work stays near linear in a crowded image, and a
/// detector that sees hundreds of things in one place costs little. support, where given: per item the sum of its
/// overlaps.
void find_neighbours(const ImageItems& image, ImageState& state, std::vector<double>* support = nullptr);

/// Gives the lists' memory back; they must be found again before the partition is improved.
void forget_neighbours(ImageState& state);

/// First partition: items in the order of how well others agree with them (support, find_neighbours), each into the
/// candidate that gains most. A candidate counts as an object while it grows: where many looked, the first few boxes of
/// an object could not make up for all who have not been asked yet.
void initial_partition(CandidateModel& model, const std::vector<double>& support, ImageState& state);

/// Tries for each item: leave, move to a neighbouring candidate, change places with the same source's item there, or
/// push that item out; then to build new candidates
/// from the items that seem spurious, as initial_partition does; then to merge neighbouring candidates. Returns the
/// number of accepted moves.
int improve_partition(CandidateModel& model, ImageState& state);

}  // namespace bdc::absence_aware
