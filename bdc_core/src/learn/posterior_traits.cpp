// What the posteriors of a learner tell of people: the table of learners says it, and that table knows the posteriors.
#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/learners.h"

namespace bdc {

bool AnnotatorPosteriors::tells_recall() const {
  return learner_traits(profile).knows_recall;
}

bool AnnotatorPosteriors::tells_classes() const {
  return learner_traits(profile).knows_classes && classes.size() > 1;
}

bool AnnotatorPosteriors::tells_boxes() const {
  return learner_traits(profile).knows_boxes;
}

}  // namespace bdc
