#include <charconv>
#include <cmath>
#include <ostream>
#include <stdexcept>

#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {
constexpr std::size_t flush_size = std::size_t{1} << 16;
}

void append_shortest_decimal(std::string& out, double value) {
  char text[40];
  const auto result = std::to_chars(text, text + sizeof(text), value);
  out.append(text, static_cast<std::size_t>(result.ptr - text));
}

std::string shortest_decimal(double value) {
  std::string text;
  append_shortest_decimal(text, value);
  return text;
}

void JsonWriter::flush() {
  out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
}

void JsonWriter::separate() {
  if (need_comma_) buffer_ += ',';
  if (line_pending_) buffer_ += '\n';
  line_pending_ = false;
  need_comma_ = true;
  if (buffer_.size() > flush_size) flush();
}

JsonWriter& JsonWriter::new_line() {
  line_pending_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  buffer_ += '{';
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  if (line_pending_) buffer_ += '\n';
  line_pending_ = false;
  buffer_ += '}';
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  buffer_ += '[';
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  if (line_pending_) buffer_ += '\n';
  line_pending_ = false;
  buffer_ += ']';
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  string(name);
  buffer_ += ':';
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
  separate();
  buffer_ += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      buffer_ += '\\';
      buffer_ += text[i++];
    } else if (c < 0x20 || c == 0x7F) {
      static constexpr char hex[] = "0123456789abcdef";
      buffer_ += "\\u00";
      buffer_ += hex[c >> 4];
      buffer_ += hex[c & 15];
      ++i;
    } else if (c < 0x80) {
      buffer_ += text[i++];
    } else {
      const std::size_t length = utf8_length(c);
      if (length != 0 && i + length <= text.size() && is_utf8(text.substr(i, length))) {
        buffer_ += text.substr(i, length);
        i += length;
      } else {
        buffer_ += "\xEF\xBF\xBD";
        ++i;
      }
    }
  }
  buffer_ += '"';
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("JSON cannot hold " + shortest_decimal(value));
  separate();
  append_shortest_decimal(buffer_, value);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  separate();
  char text[24];
  const auto result = std::to_chars(text, text + sizeof(text), value);
  buffer_.append(text, static_cast<std::size_t>(result.ptr - text));
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  separate();
  buffer_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  buffer_ += "null";
  return *this;
}

}  // namespace bdc
