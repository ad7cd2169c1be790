#pragma once

#include "bdc/learn/learner_info.h"

namespace bdc {

/// What the profiles of bdc share.
[[nodiscard]] LearnerTraits bdc_traits();
/// Training option `min_weight`.
[[nodiscard]] OptionSpec min_weight_option();
/// Throws DataError for a crowd without annotators or annotations.
void require_annotations(const CrowdData& crowd);

}  // namespace bdc
