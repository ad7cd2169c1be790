#pragma once

#include <memory>

#include "bdc/core/online_bdc.h"

namespace bdc {

[[nodiscard]] std::unique_ptr<OnlineBdc> make_online_absence_aware(const CrowdData& crowd,
                                                                   const OnlineBdcSettings& settings);
[[nodiscard]] std::unique_ptr<OnlineBdc> make_online_classic(const CrowdData& crowd, const OnlineBdcSettings& settings);

/// Appends one image's targets and closes the image (Targets::begin).
void append_image(const Targets& from, std::size_t image, Targets& to);

}  // namespace bdc
