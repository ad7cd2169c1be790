#pragma once

#include <string>
#include <string_view>

#include "files/json_file.h"

/// Text that goes into a page. Names come from files that may be hostile: all of them pass through here.
namespace bdc::host {

/// Text between tags or inside a quoted attribute: & < > " ' become entities; bytes that are not UTF-8 and control
/// characters become U+FFFD.
[[nodiscard]] std::string escape_html(std::string_view text);

/// escape_html inside <bdi>, so that text written from right to left does not turn its surroundings.
[[nodiscard]] std::string isolated(std::string_view text);

/// JSON that may stand inside a <script> element: no '<' occurs in it.
[[nodiscard]] std::string json_for_script(const Json& value);

/// A number in few characters: `digits` significant ones or, when it has more in front of the point, those; no trailing
/// zeros, no exponent for ordinary sizes; "–" when not finite.
[[nodiscard]] std::string brief(double value, int digits = 3);

/// A number with so many decimals, for columns whose points stand below each other; "–" when not finite.
[[nodiscard]] std::string in_column(double value, int decimals);

/// At most `most` (8 or more) characters: of a longer text the beginning, "…" and the last four, where numbers stand.
/// Still to be escaped.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

[[nodiscard]] std::string base64(std::string_view bytes);

/// One field of a CSV file: quoted where needed. Text that a spreadsheet would run as a formula (= + - @ in front) gets
/// an apostrophe in front.
[[nodiscard]] std::string csv_text(std::string_view text);

}  // namespace bdc::host
