#pragma once

#include <string>
#include <string_view>

#include "config/json_file.h"

/// Text that goes into a page. Names come from files that may be hostile: all of them pass through here.
namespace bdc::host {

/// Text between tags or inside a quoted attribute: & < > " ' become entities; bytes that are not UTF-8 and control
/// characters become U+FFFD.
[[nodiscard]] std::string escape_html(std::string_view text);

/// escape_html inside <bdi>, so that text written from right to left does not turn its surroundings.
[[nodiscard]] std::string isolated(std::string_view text);

/// JSON that may stand inside a <script> element: no '<' occurs in it.
[[nodiscard]] std::string json_for_script(const Json& value);

/// A number in few characters: at most `digits` significant ones, no trailing zeros; "–" when not finite.
[[nodiscard]] std::string brief(double value, int digits = 3);

[[nodiscard]] std::string base64(std::string_view bytes);

/// One field of a CSV file: quoted where needed. Text that a spreadsheet would run as a formula (= + - @ in front) gets
/// an apostrophe in front.
[[nodiscard]] std::string csv_text(std::string_view text);

}  // namespace bdc::host
