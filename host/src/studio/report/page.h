#pragma once

#include <string>

#include "studio/report/report_data.h"

namespace bdc::host {

/// One self-contained HTML page: style, script, pictures and numbers are inside, nothing is fetched. The text is
/// readable without the script.
[[nodiscard]] std::string render_report(const ReportData& data, const ReportSettings& settings);

/// How every report begins: by this an earlier one is known.
[[nodiscard]] std::string report_head();

}  // namespace bdc::host
