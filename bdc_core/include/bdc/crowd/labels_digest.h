#pragma once

#include <string>

#include "bdc/crowd/crowd_data.h"

namespace bdc {

/// Labels as one line: counts for people and a mix of everything that training and aggregation look at (classes,
/// images, annotators, boxes, who saw what; true boxes only where there are no annotators). Equal lines: the same
/// labels.
[[nodiscard]] std::string labels_digest(const CrowdData& labels);

/// The line in the form of `saved`, which may be of version 0.1: that one did not see which true boxes are crowds.
[[nodiscard]] std::string labels_digest_like(const std::string& saved, const CrowdData& labels);

}  // namespace bdc
