#include "studio/report/html.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bdc/base/markup.h"
#include "bdc/base/table.h"
#include "bdc/base/text.h"

namespace bdc::host {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

/// Length of the UTF-8 character at the front of `text`, 0 when there is none.
std::size_t character_length(std::string_view text) {
  const std::size_t length = utf8_length(static_cast<unsigned char>(text[0]));
  return text.size() >= length && is_utf8(text.substr(0, length)) ? length : 0;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    if (length == 0 || (lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7F) {
      out += kReplacement;
    } else if (length > 1) {
      out += text.substr(0, length);
    } else {
      const std::string_view entity = text[0] == '\'' ? "&#39;" : markup_entity(text[0]);
      out += entity.empty() ? text.substr(0, 1) : entity;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string isolated(std::string_view text) {
  return "<bdi>" + escape_html(text) + "</bdi>";
}

std::string json_for_script(const Json& value) {
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string brief(double value, int digits) {
  if (!std::isfinite(value)) return "–";
  if (value == 0) return "0";
  char text[64];
  std::snprintf(text, sizeof(text), "%.*e", digits - 1, value);
  const int exponent = std::atoi(std::strchr(text, 'e') + 1);
  if (exponent < -7 || exponent > 14) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    return text;
  }
  std::snprintf(text, sizeof(text), "%.*f", std::max(0, digits - 1 - exponent), value);
  std::string out = text;
  if (out.find('.') == std::string::npos) return out;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

std::string in_column(double value, int decimals) {
  if (!std::isfinite(value)) return "–";
  const std::string out = fixed(value, decimals);
  return out.find_first_of("123456789") == std::string::npos && out[0] == '-' ? out.substr(1) : out;
}

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::size_t kEnd = 4;
  std::vector<std::size_t> starts;  // of the characters
  for (std::size_t at = 0; at < text.size(); at += std::max<std::size_t>(1, character_length(text.substr(at)))) {
    starts.push_back(at);
  }
  if (starts.size() <= most) return std::string(text);
  const std::size_t front = most > kEnd + 1 ? most - kEnd - 1 : 1;
  return std::string(text.substr(0, starts[front])) + "…" + std::string(text.substr(starts[starts.size() - kEnd]));
}

std::string base64(std::string_view bytes) {
  static constexpr const char* kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t n) -> std::uint32_t {
      return i + n < bytes.size() ? static_cast<unsigned char>(bytes[i + n]) : 0U;
    };
    const std::uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += kLetters[three >> 18];
    out += kLetters[three >> 12 & 63];
    out += i + 1 < bytes.size() ? kLetters[three >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kLetters[three & 63] : '=';
  }
  return out;
}

std::string csv_text(std::string_view text) {
  std::string out;
  if (!text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos) out = "'";
  out += text;
  if (out.find_first_of("\",\n\r") == std::string::npos) return out;
  std::string quoted = "\"";
  for (const char c : out) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace bdc::host
