#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "bdc/base/error.h"

namespace bdc {

/// The text is JSON, but a value is not what the reader of the file needs (wrong type, number out of range). The reader
/// stands before or behind that value, so JsonReader::recover can go on after the record that holds it.
class JsonValueError : public DataError {
 public:
  using DataError::DataError;
};

/// Reads a JSON text from front to back, one value at a time, in memory that does not depend on the text's length.
///
///   JsonReader json(stream, "crowd.json");
///   json.begin_object();
///   while (json.next_member()) {
///     if (json.key() == "images") read_images(json);
///     else json.skip();
///   }
///   json.finish();
///
/// Between begin_x and the next_x that returns false, every member or element must be consumed by exactly one of
/// begin_object, begin_array, skip, or a scalar function.
///
/// Strict JSON (RFC 8259) in UTF-8, a byte order mark is skipped, with one exception: NaN, Infinity and -Infinity,
/// which Python writes, are numbers, so that a validator can count them; `number` refuses them. Broken text throws
/// DataError; a value of the wrong kind throws JsonValueError. Both messages start with "file:line: path: " and end
/// with the byte, for instance
///   crowd.json:12: annotations[3].bbox[2]: expected a number, found the string "12" (byte 4711)
class JsonReader {
 public:
  static constexpr std::size_t max_depth = 128;              ///< of nested arrays and objects
  static constexpr std::size_t max_number_length = 400;      ///< characters
  static constexpr std::size_t max_string_length = 1 << 26;  ///< bytes of a string that is not skipped

  enum class Type { object, array, string, number, boolean, null };

  /// `name` is the file's name in messages, where lines count from `first_line`. The stream must outlive the reader.
  JsonReader(std::istream& in, std::string name, std::size_t first_line = 1);
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  /// Type of the value that comes next.
  [[nodiscard]] Type peek();

  void begin_object();
  /// True: key() is the next member's name and its value must be consumed. False: the object is over.
  [[nodiscard]] bool next_member();
  [[nodiscard]] std::string_view key() const { return frames_.back().key; }

  void begin_array();
  /// True: an element must be consumed. False: the array is over.
  [[nodiscard]] bool next_element();
  /// The next element that is an object, begun; others are skipped. False: the array is over.
  [[nodiscard]] bool next_object_element();
  /// Position of the current element in the innermost array or object, from 0.
  [[nodiscard]] std::size_t index() const { return frames_.back().index; }

  /// A string; the view is valid until the next call.
  [[nodiscard]] std::string_view string();
  /// A finite number.
  [[nodiscard]] double number();
  /// A number that may be NaN or infinite.
  [[nodiscard]] double number_or_nan();
  /// A whole number (also written 3.0) that fits in 64 bits.
  [[nodiscard]] std::int64_t integer();
  [[nodiscard]] bool boolean();
  void null();
  /// Any value, with all it holds.
  void skip();
  /// Checks that nothing follows the outermost value.
  void finish();

  /// Depth of nesting now; hand it to recover after a JsonValueError.
  [[nodiscard]] std::size_t depth() const { return frames_.size(); }
  /// Skips what is left of the containers deeper than `depth`, so that the next_x of that depth can be called.
  void recover(std::size_t depth);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::size_t byte() const { return consumed_ + static_cast<std::size_t>(cursor_ - buffer_.data()); }
  /// Path of the value now being read: annotations[3].bbox[2]; empty for the outermost value.
  [[nodiscard]] std::string path() const;

  /// Throws JsonValueError with the position of the value read last.
  [[noreturn]] void fail_value(const std::string& message) const;

 private:
  struct Frame {
    bool is_object;
    bool started;
    bool value_pending;  // next_x returned true and the value has not been consumed
    std::size_t index;
    std::string key;
  };

  [[noreturn]] void fail_syntax(const std::string& message);
  [[noreturn]] void fail_type(const char* expected);
  std::string describe_next();
  bool refill();
  int look();  // the next byte, or -1 at the end
  int next_token_byte();
  void take_value();
  void push(bool is_object);
  bool next(bool is_object);
  void read_string_into(std::string* out);
  unsigned read_hex4();
  std::string_view read_number_text();
  void skip_number();
  void expect_word(const char* word);
  void check_utf8_tail(unsigned char lead, std::string* out);

  std::istream& in_;
  std::string name_;
  std::vector<char> buffer_;
  const char* cursor_;
  const char* end_;
  std::size_t consumed_ = 0;  // bytes of the text before buffer_
  std::size_t line_;
  std::vector<Frame> frames_;
  std::string key_;  ///< of a member while it is read
  bool root_pending_ = true;
  std::string scratch_;
};

/// Writes JSON text front to back. Numbers are the shortest decimals that read back to the same double.
/// Members and elements are separated as needed; begin and end must pair up (not checked).
class JsonWriter {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}
  ~JsonWriter() { flush(); }
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  /// Bytes that are not UTF-8 are replaced by U+FFFD.
  JsonWriter& string(std::string_view text);
  /// Throws std::invalid_argument unless finite.
  JsonWriter& number(double value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  /// Starts a new line before the next element; for files that people look at.
  JsonWriter& new_line();
  void flush();

 private:
  void separate();

  std::ostream& out_;
  std::string buffer_;
  bool need_comma_ = false;
  bool line_pending_ = false;
};

/// The shortest decimal that reads back to `value`: "0.1", "1e+22", "12". "nan" and "inf" when not finite.
[[nodiscard]] std::string shortest_decimal(double value);
void append_shortest_decimal(std::string& out, double value);

}  // namespace bdc
