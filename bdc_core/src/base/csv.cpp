#include "base/csv.h"

#include <istream>

#include "bdc/base/error.h"
#include "bdc/base/text.h"

namespace bdc {

CsvReader::CsvReader(std::istream& in, std::string name)
    : in_(in), name_(std::move(name)), buffer_(std::size_t{1} << 16) {
  look();
  if (filled_ >= 3 && std::string_view(buffer_.data(), 3) == "\xEF\xBB\xBF") at_ = 3;
  if (filled_ >= 2) {
    const std::string_view mark(buffer_.data(), 2);
    if (mark == "\xFF\xFE" || mark == "\xFE\xFF") fail("expected text in UTF-8, found the byte order mark of UTF-16");
  }
}

void CsvReader::fail(const std::string& message) const {
  throw DataError(name_ + ":" + std::to_string(row_line_) + ": " + message);
}

int CsvReader::look() {
  if (at_ == filled_) {
    at_ = filled_ = 0;
    if (in_) {
      in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
      filled_ = static_cast<std::size_t>(in_.gcount());
    }
    if (filled_ == 0) return -1;
  }
  return static_cast<unsigned char>(buffer_[at_]);
}

int CsvReader::take() {
  const int c = look();
  if (c >= 0) ++at_;
  if (c == '\n') ++next_line_;
  return c;
}

char CsvReader::detect_separator() {
  static_cast<void>(look());
  const std::string_view start(buffer_.data() + at_, filled_ - at_);
  if (start.size() > 5 && start.substr(0, 4) == "sep=" && (start[5] == '\n' || start[5] == '\r')) {  // Excel's
    const char named = start[4];
    while (look() >= 0 && take() != '\n') {
    }
    if (named == ',' || named == ';' || named == '\t') return separator_ = named;
  }
  bool quoted = false;
  std::size_t semicolons = 0, tabs = 0, bars = 0;
  for (std::size_t i = at_; i < filled_; ++i) {
    const char c = buffer_[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == ',') return separator_;
    semicolons += c == ';' ? 1 : 0;
    tabs += c == '\t' ? 1 : 0;
    bars += c == '|' ? 1 : 0;
    if (c == '\n' && semicolons + tabs + bars > 0) break;
  }
  if (semicolons + tabs + bars > 0) {
    separator_ = bars > semicolons + tabs ? '|' : semicolons >= tabs ? ';' : '\t';
  }
  return separator_;
}

bool CsvReader::next_row() {
  for (;;) {
    row_line_ = next_line_;
    if (look() < 0) return false;
    fields_.clear();
    bool any_quotes = false;
    for (bool more = true; more;) {
      if (fields_.size() == max_fields) fail("expected at most 10000 fields in a row, found more");
      std::string field;
      if (look() == '"') {
        any_quotes = true;
        take();
        for (;;) {
          const int c = take();
          if (c < 0) fail("a field in double quotes does not end; is the file truncated?");
          if (c == '"') {
            if (look() != '"') break;
            take();
          }
          field += static_cast<char>(c);
          if (field.size() > max_field_length) fail("a field is longer than 1 MiB; is a closing quote missing?");
        }
        const int c = look();
        if (c >= 0 && c != separator_ && c != '\n' && c != '\r') {
          fail(std::string("expected a ") +
               (separator_ == ','   ? "comma"
                : separator_ == ';' ? "semicolon"
                : separator_ == '|' ? "bar"
                                    : "tab") +
               " or the end of the row after a quoted field");
        }
      }
      for (;;) {
        const int c = take();
        if (c == separator_) break;
        if (c < 0 || c == '\n') {
          more = false;
          break;
        }
        if (c == '\r' && (look() == '\n' || look() < 0)) continue;
        field += static_cast<char>(c);
        if (field.size() > max_field_length) fail("a field is longer than 1 MiB");
      }
      if (!is_utf8(field)) fail("a field is not valid UTF-8; save the file as UTF-8");
      fields_.push_back(std::move(field));
    }
    const bool blank = fields_.size() == 1 && !any_quotes && trimmed(fields_[0]).empty();
    if (!blank) return true;
  }
}

std::string csv_field(std::string_view text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos && trimmed(text).size() == text.size();
  if (plain && !text.empty()) return std::string(text);
  if (text.empty()) return {};
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace bdc
