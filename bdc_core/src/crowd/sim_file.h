#pragma once

#include <string>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/predictions.h"

namespace bdc {

/// Whether a file is a simulated crowd: {"classes": J, "annotators": K, "images": [...]} with whole numbers J and K.
[[nodiscard]] bool is_sim_file(const std::string& path);

/// The predictions of a simulated crowd for data that was read from it (images by id).
[[nodiscard]] Predictions read_sim_predictions(const std::string& path, const CrowdData& data);

}  // namespace bdc
