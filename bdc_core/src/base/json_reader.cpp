#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <istream>
#include <limits>

#include "bdc/base/json_stream.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 16;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Whether `text` is a number by RFC 8259 (from_chars accepts more: leading zeros, "1.", ".5").
bool is_json_number(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i > start;
  };
  if (i < text.size() && text[i] == '-') ++i;
  if (i < text.size() && text[i] == '0') {
    ++i;
  } else if (!digits()) {
    return false;
  }
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (!digits()) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == text.size();
}

}  // namespace

JsonReader::JsonReader(std::istream& in, std::string name, std::size_t first_line)
    : in_(in), name_(std::move(name)), buffer_(buffer_size), line_(first_line) {
  cursor_ = end_ = buffer_.data();
  frames_.reserve(max_depth + 1);  // never reallocated: key() stays valid while deeper values are read
  refill();
  const auto starts_with = [&](std::string_view mark) {
    return static_cast<std::size_t>(end_ - cursor_) >= mark.size() &&
           std::memcmp(cursor_, mark.data(), mark.size()) == 0;
  };
  if (starts_with("\xEF\xBB\xBF")) cursor_ += 3;
  if (starts_with("\xFF\xFE") || starts_with("\xFE\xFF")) {
    fail_syntax("expected JSON in UTF-8, found the byte order mark of UTF-16; save the file as UTF-8");
  }
}

bool JsonReader::refill() {
  consumed_ += static_cast<std::size_t>(end_ - buffer_.data());
  cursor_ = end_ = buffer_.data();
  if (!in_) return false;
  in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  if (in_.bad()) throw DataError(name_ + ": cannot be read (input error after byte " + std::to_string(consumed_) + ")");
  end_ = buffer_.data() + in_.gcount();
  return cursor_ != end_;
}

int JsonReader::look() {
  if (cursor_ == end_ && !refill()) return -1;
  return static_cast<unsigned char>(*cursor_);
}

int JsonReader::next_token_byte() {
  for (;;) {
    while (cursor_ != end_) {
      const char c = *cursor_;
      if (!is_space(c)) return static_cast<unsigned char>(c);
      if (c == '\n') ++line_;
      ++cursor_;
    }
    if (!refill()) return -1;
  }
}

std::string JsonReader::path() const {
  std::string text;
  for (const Frame& frame : frames_) {
    if (!frame.started) break;
    if (frame.is_object) {
      if (frame.key.empty()) continue;  // the file ends in the name
      if (!text.empty()) text += '.';
      text += shorten(frame.key, 60);
    } else {
      text += '[' + std::to_string(frame.index) + ']';
    }
  }
  return text;
}

void JsonReader::fail_syntax(const std::string& message) {
  const std::string where = path();
  throw DataError(name_ + ":" + std::to_string(line_) + ": " + (where.empty() ? "" : where + ": ") + message +
                  " (byte " + std::to_string(byte()) + ")");
}

void JsonReader::fail_value(const std::string& message) const {
  const std::string where = path();
  throw JsonValueError(name_ + ":" + std::to_string(line_) + ": " + (where.empty() ? "" : where + ": ") + message +
                       " (byte " + std::to_string(byte()) + ")");
}

std::string JsonReader::describe_next() {
  const int c = next_token_byte();
  if (c < 0) return "the end of the file";
  if (c == '{') return "an object";
  if (c == '[') return "an array";
  if (c == 't' || c == 'f') return c == 't' ? "true" : "false";
  if (c == 'n') return "null";
  if (c == '"') {
    std::string preview;
    const char* p = cursor_ + 1;
    while (p != end_ && *p != '"' && *p != '\\' && preview.size() < 40) preview += *p++;
    return "the string \"" + printable(preview) + (p != end_ && *p == '"' ? "\"" : "...\"");
  }
  std::string preview;
  for (const char* p = cursor_; p != end_ && preview.size() < 24 && !is_space(*p) && !std::strchr(",]}:", *p); ++p) {
    preview += *p;
  }
  if (preview.empty()) preview = static_cast<char>(c);
  const bool number = is_digit(static_cast<char>(c)) || c == '-' || c == 'N' || c == 'I';
  return number ? "the number " + printable(preview) : in_quotes(preview);
}

void JsonReader::fail_type(const char* expected) {
  const std::string found = describe_next();
  if (found == "the end of the file") {
    fail_syntax("the file ends too early: expected " + std::string(expected) + "; is it truncated?");
  }
  fail_value("expected " + std::string(expected) + ", found " + found);
}

JsonReader::Type JsonReader::peek() {
  const int c = next_token_byte();
  switch (c) {
    case '{':
      return Type::object;
    case '[':
      return Type::array;
    case '"':
      return Type::string;
    case 't':
    case 'f':
      return Type::boolean;
    case 'n':
      return Type::null;
    case 'N':
    case 'I':
    case '-':
      return Type::number;
    case -1:
      fail_syntax(consumed_ == 0 && frames_.empty() ? "expected JSON, found an empty file"
                                                    : "the file ends too early: expected a value; is it truncated?");
    default:
      if (is_digit(static_cast<char>(c))) return Type::number;
      if (c == '<' && consumed_ == 0 && frames_.empty()) fail_syntax("expected JSON, found XML");
      fail_syntax("expected a JSON value, found " + describe_next());
  }
}

void JsonReader::take_value() {
  if (frames_.empty()) {
    root_pending_ = false;
  } else {
    frames_.back().value_pending = false;
  }
}

void JsonReader::push(bool is_object) {
  if (frames_.size() >= max_depth) {
    fail_syntax("arrays and objects are nested deeper than " + std::to_string(max_depth) + " levels");
  }
  ++cursor_;
  take_value();
  frames_.push_back({is_object, false, false, 0, {}});
}

void JsonReader::begin_object() {
  if (peek() != Type::object) fail_type("an object");
  push(true);
}

void JsonReader::begin_array() {
  if (peek() != Type::array) fail_type("an array");
  push(false);
}

bool JsonReader::next(bool is_object) {
  Frame& frame = frames_.back();
  const char close = is_object ? '}' : ']';
  int c = next_token_byte();
  if (c < 0) fail_syntax(std::string("the file ends too early: expected ',' or '") + close + "'; is it truncated?");
  if (c == close) {
    ++cursor_;
    frames_.pop_back();
    return false;
  }
  if (frame.started) {
    if (c != ',') fail_syntax(std::string("expected ',' or '") + close + "', found " + describe_next());
    ++cursor_;
    ++frame.index;
    c = next_token_byte();
    if (c == close) fail_syntax(std::string("expected a value after ',', found '") + close + "'");
  }
  frame.started = true;
  frame.value_pending = true;
  return true;
}

bool JsonReader::next_member() {
  if (!next(true)) return false;
  Frame& frame = frames_.back();
  frame.key.clear();
  const int c = next_token_byte();
  if (c < 0) fail_syntax("the file ends too early: expected a member's name; is it truncated?");
  if (c != '"') fail_syntax("expected a member's name in double quotes, found " + describe_next());
  key_.clear();
  read_string_into(&key_);  // an error inside it is not the member's
  frame.key.swap(key_);
  if (next_token_byte() != ':') fail_syntax("expected ':' after a member's name, found " + describe_next());
  ++cursor_;
  return true;
}

bool JsonReader::next_element() {
  return next(false);
}

bool JsonReader::next_object_element() {
  while (next_element()) {
    if (peek() == Type::object) {
      begin_object();
      return true;
    }
    skip();
  }
  return false;
}

std::string_view JsonReader::string() {
  if (peek() != Type::string) fail_type("a string");
  scratch_.clear();
  read_string_into(&scratch_);
  take_value();
  return scratch_;
}

unsigned JsonReader::read_hex4() {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i) {
    const int c = look();
    unsigned digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<unsigned>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<unsigned>(c - 'A' + 10);
    } else {
      fail_syntax("expected four hexadecimal digits after \\u in a string");
    }
    value = value * 16 + digit;
    ++cursor_;
  }
  return value;
}

void JsonReader::check_utf8_tail(unsigned char lead, std::string* out) {
  char bytes[4] = {static_cast<char>(lead), 0, 0, 0};
  const std::size_t length = utf8_length(lead);
  for (std::size_t i = 1; i < length; ++i) {
    if (look() < 0) break;
    bytes[i] = *cursor_;
    if ((static_cast<unsigned char>(bytes[i]) & 0xC0) != 0x80) break;
    ++cursor_;
  }
  if (length == 0 || !is_utf8(std::string_view(bytes, length))) {
    fail_syntax("a string is not valid UTF-8; save the file as UTF-8");
  }
  if (out != nullptr) out->append(bytes, length);
}

/// The cursor stands on the opening quote; afterwards behind the closing one. out may be null (the text is dropped).
void JsonReader::read_string_into(std::string* out) {
  ++cursor_;
  for (;;) {
    const char* start = cursor_;
    while (cursor_ != end_) {
      const auto c = static_cast<unsigned char>(*cursor_);
      if (c == '"' || c == '\\' || c < 0x20 || c >= 0x80) break;
      ++cursor_;
    }
    if (out != nullptr) {
      out->append(start, static_cast<std::size_t>(cursor_ - start));
      if (out->size() > max_string_length) fail_syntax("a string is longer than 64 MiB");
    }
    const int c = look();
    if (c < 0) fail_syntax("the file ends inside a string; is it truncated?");
    if (c == '"') {
      ++cursor_;
      return;
    }
    if (c < 0x20)
      fail_syntax("a string holds a control character (code " + std::to_string(c) + "); write it as \\u00xx");
    if (c >= 0x80) {
      ++cursor_;
      check_utf8_tail(static_cast<unsigned char>(c), out);
      continue;
    }
    if (c != '\\') continue;  // the buffer was refilled inside plain text
    ++cursor_;
    const int escape = look();
    if (escape < 0) fail_syntax("the file ends inside a string; is it truncated?");
    ++cursor_;
    static constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const std::size_t known = letters.find(static_cast<char>(escape));
    if (known != std::string_view::npos) {
      if (out != nullptr) *out += meanings[known];
    } else if (escape == 'u') {
      unsigned code = read_hex4();
      if (code >= 0xDC00 && code < 0xE000) fail_syntax("a string holds the second half of a surrogate pair alone");
      if (code >= 0xD800 && code < 0xDC00) {
        if (look() != '\\') fail_syntax("a string holds the first half of a surrogate pair alone");
        ++cursor_;
        if (look() != 'u') fail_syntax("a string holds the first half of a surrogate pair alone");
        ++cursor_;
        const unsigned low = read_hex4();
        if (low < 0xDC00 || low >= 0xE000) fail_syntax("a string holds the first half of a surrogate pair alone");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      }
      if (out != nullptr) append_utf8(*out, code);
    } else {
      fail_syntax("a string holds an unknown escape after '\\'");
    }
  }
}

std::string_view JsonReader::read_number_text() {
  const auto belongs = [](char c) {
    return is_digit(c) || c == '-' || c == '+' || c == '.' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const char* p = cursor_;
  while (p != end_ && belongs(*p)) ++p;
  if (p != end_) {  // the usual case: the whole number is in the buffer
    const std::string_view text(cursor_, static_cast<std::size_t>(p - cursor_));
    if (text.size() > max_number_length) fail_syntax("a number is longer than 400 characters");
    cursor_ = p;
    return text;
  }
  scratch_.clear();
  while (look() >= 0 && belongs(*cursor_)) {
    scratch_ += *cursor_++;
    if (scratch_.size() > max_number_length) fail_syntax("a number is longer than 400 characters");
  }
  return scratch_;
}

void JsonReader::skip_number() {
  const std::string_view text = read_number_text();
  if (!is_json_number(text) && text != "NaN" && text != "Infinity" && text != "-Infinity") {
    fail_syntax("expected a number, found " + printable(shorten(text, 40)));
  }
  take_value();
}

double JsonReader::number_or_nan() {
  if (peek() != Type::number) fail_type("a number");
  const std::string_view text = read_number_text();
  take_value();
  double value = 0;
  if (is_json_number(text)) {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec == std::errc::result_out_of_range) {
      // Too small is zero; too large has no double.
      const std::size_t e = text.find_first_of("eE");
      if (e != std::string_view::npos && text.substr(e + 1, 1) == "-") return 0.0;
      fail_value("the number " + shorten(text, 40) + " is too large");
    }
    return value;
  }
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  fail_syntax("expected a number, found " + printable(shorten(text, 40)));
}

double JsonReader::number() {
  const double value = number_or_nan();
  if (!std::isfinite(value)) fail_value("expected a finite number, found " + shortest_decimal(value));
  return value;
}

std::int64_t JsonReader::integer() {
  if (peek() != Type::number) fail_type("a whole number");
  const std::string_view text = read_number_text();
  take_value();
  if (!is_json_number(text)) {
    if (text == "NaN" || text == "Infinity" || text == "-Infinity") {
      fail_value("expected a whole number, found " + std::string(text));
    }
    fail_syntax("expected a whole number, found " + printable(shorten(text, 40)));
  }
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc() && result.ptr == text.data() + text.size()) return value;
  double real = 0;
  const auto as_real = std::from_chars(text.data(), text.data() + text.size(), real);
  if (as_real.ec == std::errc() && std::floor(real) == real && std::abs(real) <= 9007199254740992.0) {
    return static_cast<std::int64_t>(real);
  }
  fail_value("expected a whole number of at most 64 bits, found " + shorten(text, 40));
}

void JsonReader::expect_word(const char* word) {
  for (const char* p = word; *p != 0; ++p) {
    if (look() != static_cast<unsigned char>(*p))
      fail_syntax(std::string("expected ") + word + ", found something else");
    ++cursor_;
  }
}

bool JsonReader::boolean() {
  if (peek() != Type::boolean) fail_type("true or false");
  const bool value = *cursor_ == 't';
  expect_word(value ? "true" : "false");
  take_value();
  return value;
}

void JsonReader::null() {
  if (peek() != Type::null) fail_type("null");
  expect_word("null");
  take_value();
}

void JsonReader::skip() {
  const std::size_t base = frames_.size();
  do {
    if (frames_.size() > base && !frames_.back().value_pending) {
      if (!(frames_.back().is_object ? next_member() : next_element())) continue;
    }
    switch (peek()) {
      case Type::object:
      case Type::array:
        push(*cursor_ == '{');
        break;
      case Type::string:
        read_string_into(nullptr);
        take_value();
        break;
      case Type::number:
        skip_number();
        break;
      case Type::boolean:
        static_cast<void>(boolean());
        break;
      case Type::null:
        null();
        break;
    }
  } while (frames_.size() > base);
}

void JsonReader::recover(std::size_t depth) {
  while (frames_.size() > depth) {
    if (frames_.back().value_pending) {
      skip();
    } else {
      static_cast<void>(frames_.back().is_object ? next_member() : next_element());
    }
  }
  if (!frames_.empty() && frames_.back().value_pending) skip();
}

void JsonReader::finish() {
  if (next_token_byte() >= 0) fail_syntax("expected the end of the file, found " + describe_next());
}

}  // namespace bdc
