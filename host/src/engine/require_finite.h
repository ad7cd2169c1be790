#pragma once

#include <bdc/plugin/types.h>

#include <filesystem>

#include "bdc/crowd/crowd_data.h"
#include "engine/checkpoint.h"

namespace bdc::host {

/// Throws UserError (exit 9), with advice, unless `value`, a loss or the norm of its gradient, is finite: first writes
/// the images of the batch, of the training set's `labels`, to non_finite.json in the run's folder. `at.position`
/// counts the batch. `learning_rate`: the run's, which the advice lowers.
void require_finite(double value, const plugin::Images& images, const CrowdData& labels, const RunPosition& at,
                    double learning_rate, const std::filesystem::path& folder);

}  // namespace bdc::host
