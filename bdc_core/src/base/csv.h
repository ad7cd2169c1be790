#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace bdc {

/// Reads comma-separated values row by row (RFC 4180: fields in double quotes may hold commas, line breaks and doubled
/// quotes; rows end in LF or CRLF). Blank rows are skipped, so is a UTF-8 byte order mark.
/// Throws DataError "file:line: ..." for broken quoting, text that is not UTF-8, and absurd lengths.
class CsvReader {
 public:
  static constexpr std::size_t max_field_length = std::size_t{1} << 20;
  static constexpr std::size_t max_fields = 10000;

  CsvReader(std::istream& in, std::string name);

  /// Before the first row: takes semicolons, tabs or bars (|) as separators when the first line has such and no comma
  /// outside of quotes; a first line "sep=;" says it and is passed over. Returns the separator.
  char detect_separator();
  /// False at the end. fields() and line() then describe the row.
  [[nodiscard]] bool next_row();
  [[nodiscard]] const std::vector<std::string>& fields() const { return fields_; }
  /// Line on which the row starts, from 1.
  [[nodiscard]] std::size_t line() const { return row_line_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[noreturn]] void fail(const std::string& message) const;

 private:
  int take();  // the next byte, or -1
  int look();

  std::istream& in_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  char separator_ = ',';
  std::vector<std::string> fields_;
  std::size_t next_line_ = 1, row_line_ = 1;
};

/// A field as it must be written: in quotes only when needed.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace bdc
