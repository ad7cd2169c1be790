#pragma once

#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"

namespace bdc {

/// Expected number of objects, by image, that none of those who looked has drawn. An image has Poisson(rho) objects,
/// rho one of a ladder of rates whose shares are fitted to the crowd (expectation maximisation). With n objects found
/// and M = product over those who looked of (1 - recall), what is left is M E[rho | n, M]. An image that nobody saw has
/// E[rho].
/// posteriors: as many annotators as the crowd; where they know no recall, `recall` stands for it.
[[nodiscard]] std::vector<double> unseen_objects(const CrowdData& crowd, const Targets& targets,
                                                 const AnnotatorPosteriors* posteriors, double recall);

}  // namespace bdc
