#pragma once

#include "bdc/learn/bdc/absence_aware.h"
#include "learn/bdc/absence_aware/confusion_cells.h"

/// Posteriors of the sources from evidence, and the priors they share (empirical Bayes). With the evidence fixed, the
/// bound as a function of (prior, posterior) is, at the best posterior, the log evidence of a conjugate model; the
/// priors climb that, then the posteriors are set. So neither can lower the bound.
namespace bdc::absence_aware {

/// Fits the shared priors of precision and bias, recall and spurious rate.
void fit_source_priors(const std::vector<SourceEvidence>& evidence, AbsenceAwareBeliefs& beliefs, int threads);

/// Sets the posteriors of precision, bias, recall, spurious rate, class frequencies and score levels.
void set_source_posteriors(const AbsenceAwareEvidence& evidence, AbsenceAwareBeliefs& beliefs);

/// So many that boxes and sources take turns once a round only, and neighbours are found anew rather than kept.
[[nodiscard]] bool is_huge(const ConfusionColumns& counts);

/// So many counts or classes that the confusion priors are fitted once a round, to save time.
[[nodiscard]] bool is_large(const ConfusionCells& counts, std::size_t classes);

/// Fits every source's and the shared part of the confusion prior. cells: counts of the columns. scale: also the common
/// scale of all strengths, which the single fits approach slowly. Whether another scale was better.
bool fit_confusion_priors(const ConfusionColumns& columns, const ConfusionCells& cells, AbsenceAwareBeliefs& beliefs,
                          bool scale, int threads);

/// Sets E[ln pi] of the columns of beliefs.log_confusion from their counts, and the divergences. needed: the entries
/// that will be looked at beside those with a count, or null for all; the others keep what they had.
void set_confusion_posteriors(const ConfusionCells& cells, AbsenceAwareBeliefs& beliefs, int threads,
                              const ConfusionEntries* needed = nullptr);

/// Fills the expectations of every posterior but the confusion's.
void set_expectations(AbsenceAwareBeliefs& beliefs);

/// The bound's terms that belong to no image: minus the divergences of all posteriors from their priors, plus the
/// priors' own hyperpriors.
[[nodiscard]] double global_bound(const AbsenceAwareBeliefs& beliefs);

/// Expected log-likelihood of evidence from before: it belongs to no image of this crowd.
[[nodiscard]] double expected_log_likelihood(const AbsenceAwareEvidence& evidence, const AbsenceAwareBeliefs& beliefs);

/// Hyperpriors of the confusion prior and of the source priors: parts of global_bound.
[[nodiscard]] double log_hyperprior(const AbsenceAwareBeliefs& beliefs);

}  // namespace bdc::absence_aware
