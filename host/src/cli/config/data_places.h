#pragma once

#include <string>
#include <vector>

#include "files/json_file.h"

namespace bdc::host {

/// Fills in what the labels of a config (data.labels) tell by themselves, where the config leaves it open: the folder
/// of their images, and, when they are divided into train, val and test, what is trained on and what is evaluated.
/// Returns what was taken, a line each. Throws DataError for a data.yaml that cannot be read, UserError (exit 3) for
/// labels that are divided and have no part to train on.
[[nodiscard]] std::vector<std::string> complete_data(Json& config);

/// Reads the labels of a config and says, a line each: the images, boxes and annotators of what is trained on and of
/// what is evaluated. For --dry-run.
[[nodiscard]] std::vector<std::string> describe_data(const Json& config);

}  // namespace bdc::host
