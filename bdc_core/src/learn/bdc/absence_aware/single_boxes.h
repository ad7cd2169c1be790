#pragma once

#include "learn/bdc/absence_aware/image_share.h"
#include "learn/bdc/absence_aware/problem.h"

/// Classes of boxes that one annotator alone drew. Nobody's label stands beside theirs, so they teach nothing about who
/// mixes up what; but together they say which classes such objects have. That differs from all objects: what most
/// people miss is often of certain classes.
namespace bdc::absence_aware {

[[nodiscard]] inline bool is_single_box(const Candidate& c, const ImageItems& image) {
  return c.members.size() == 1 && !image.lone &&
         image.items[static_cast<std::size_t>(c.members.front())].class_probs == nullptr;
}

/// Shares of classes among these objects: those under which their labels are most probable, given who mixes up what.
/// With a prior as strong as a label per class, centred on the shares among all other objects. Each rank brings its
/// images.
[[nodiscard]] std::vector<double> single_box_shares(const Problem& problem, const std::vector<ImageState>& state,
                                                    const AbsenceAwareBeliefs& beliefs, const ImageShare& share,
                                                    int threads);

/// The class probabilities of one of them under beliefs.labels.single_share; before, they are those under the shares of
/// all objects.
void set_single_box_classes(const AbsenceAwareBeliefs& beliefs, const ClassSet& classes, Candidate& c);

}  // namespace bdc::absence_aware
