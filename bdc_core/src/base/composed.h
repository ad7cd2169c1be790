#pragma once

#include <string>
#include <string_view>

namespace bdc {

/// Text in UTF-8 with letters and their marks as one character, where there is such a one: "e" and an acute accent
/// become "é" (Unicode's form NFC, for Latin, Greek, Cyrillic, kana and Hangul). macOS writes names of files the other
/// way, and both look alike.
[[nodiscard]] std::string composed(std::string text);

/// Whether composed() may change the text: a quick look.
[[nodiscard]] bool may_be_decomposed(std::string_view text);

}  // namespace bdc
