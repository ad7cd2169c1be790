#pragma once

#include "learn/bdc/absence_aware/image_state.h"

/// A label that helps to decide its object's class also teaches that its giver is right, and so counts twice: where
/// people gave a class a few times only, classes come out too sure. The last word on classes is with what is believed
/// of each label's giver from all other labels.
namespace bdc::absence_aware {

/// Sets beliefs.labels; the columns are those of beliefs.log_confusion.
void keep_label_counts(ConfusionCells cells, AbsenceAwareBeliefs& beliefs);

/// Changes the class probabilities of the image's candidates, nothing else: evidence must be taken before. Does nothing
/// where no label counts are kept.
void leave_out_own_labels(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, ImageState& state);

}  // namespace bdc::absence_aware
