#pragma once

#include <cstddef>
#include <iosfwd>
#include <vector>

#include "bdc/learn/annotator_posteriors.h"
#include "synth/crowd_spec.h"

namespace bdc::host {

/// Annotators with at least one image, best first (quality_figure), those whose quality is not determined last.
[[nodiscard]] std::vector<std::size_t> annotators_by_quality(const AnnotatorPosteriors& posteriors);

/// A table of the first and last `ends` annotators by quality (all when there are few, or when `ends` is 0).
void print_annotators(std::ostream& out, const AnnotatorPosteriors& posteriors, std::size_t ends);

/// What was learnt of simulated annotators next to what is true of them: "0.91 (0.95)". One row each, in order.
void print_simulated(std::ostream& out, const AnnotatorPosteriors& posteriors,
                     const std::vector<SimulatedAnnotator>& truth);

}  // namespace bdc::host
