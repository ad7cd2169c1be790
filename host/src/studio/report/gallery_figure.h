#pragma once

#include <cstdint>
#include <string>

#include "studio/report/report_data.h"

namespace bdc::host {

/// The hue of an annotator's boxes, the same in every figure, in degrees.
[[nodiscard]] int annotator_hue(std::int32_t k);

/// Image i with the boxes of its annotators, beside each method's consensus and the truth. number: of the figure, from
/// 0.
[[nodiscard]] std::string gallery_figure(const ReportData& data, std::size_t i, double disagreement,
                                         std::size_t number);

}  // namespace bdc::host
