#pragma once

#include <memory>

#include "bdc/learn/online_bdc.h"

namespace bdc {

[[nodiscard]] std::unique_ptr<OnlineBdc> make_online_absence_aware(const CrowdData& crowd,
                                                                   const OnlineBdcSettings& settings);
[[nodiscard]] std::unique_ptr<OnlineBdc> make_online_classic(const CrowdData& crowd, const OnlineBdcSettings& settings);

}  // namespace bdc
