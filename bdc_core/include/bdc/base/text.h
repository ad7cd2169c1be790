#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bdc {

/// Length in bytes of the UTF-8 sequence that starts with `lead`; 0 when no sequence starts so.
[[nodiscard]] std::size_t utf8_length(unsigned char lead);
/// Whether `text` is valid UTF-8 (no overlong forms, no surrogates, at most U+10FFFF).
[[nodiscard]] bool is_utf8(std::string_view text);
void append_utf8(std::string& out, unsigned code_point);

/// At most `length` bytes of text, cut at a character and marked with "..." when something was left out.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t length);
/// For messages: control characters and invalid UTF-8 become '?', and what is longer than `limit` bytes is shortened.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 200);
/// For messages: in double quotes, printable, at most 60 bytes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Without blanks (space, tab, CR, LF) at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);
[[nodiscard]] std::string lower_case(std::string_view text);
[[nodiscard]] bool ends_with(std::string_view text, std::string_view end);
/// The words with `between` between them.
[[nodiscard]] std::string join(const std::vector<std::string>& words, const std::string& between = ", ");
/// "1 box", "3 boxes": a count and what is counted. many: the plural; left out, an s is added.
[[nodiscard]] std::string counted(std::size_t n, const std::string& one, const std::string& many = "");

/// The whole text as a number: decimal or scientific; "nan" and "inf" too. Nothing when it is anything else.
[[nodiscard]] std::optional<double> parse_real(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

/// Edit distance (insert, delete, replace, swap with the neighbour), for "did you mean".
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace bdc
