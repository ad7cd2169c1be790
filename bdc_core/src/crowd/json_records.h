#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <istream>
#include <streambuf>
#include <string>

#include "base/files.h"
#include "bdc/base/json_stream.h"
#include "bdc/crowd/problems.h"

namespace bdc {

/// Calls body for every element of the array that comes next; body must consume it. When a record is wrong
/// (JsonValueError), a strict log throws; a lenient one counts a bad_record and goes on with the next element.
template <class Body>
void for_each_record(JsonReader& json, ProblemLog& problems, const Body& body) {
  json.begin_array();
  const std::size_t depth = json.depth();
  while (json.next_element()) {
    if (problems.strict()) {
      body();
      continue;
    }
    try {
      body();
    } catch (const JsonValueError& error) {
      problems.report(ProblemKind::bad_record, [&] { return std::string(error.what()); });
      json.recover(depth);
    }
  }
}

/// A string; null is the empty string.
[[nodiscard]] inline std::string read_optional_string(JsonReader& json) {
  if (json.peek() == JsonReader::Type::null) {
    json.null();
    return {};
  }
  return std::string(json.string());
}

/// A whole number; null is 0.
[[nodiscard]] inline std::int64_t read_optional_integer(JsonReader& json) {
  if (json.peek() == JsonReader::Type::null) {
    json.null();
    return 0;
  }
  return json.integer();
}

/// Whether the member that has come is one of COCO's lists, so that the file is not of a format that has none of them.
/// A test that would skip it would read a whole file of gigabytes.
[[nodiscard]] inline bool is_coco_list(JsonReader& json) {
  for (const char* list : {"images", "annotations", "categories"}) {
    if (json.key() == list) return json.peek() == JsonReader::Type::array;
  }
  return false;
}

/// Begins the array that comes next and the object that is its first element. False: nothing of this kind comes.
[[nodiscard]] inline bool begin_list_of_objects(JsonReader& json) {
  if (json.peek() != JsonReader::Type::array) return false;
  json.begin_array();
  if (!json.next_element() || json.peek() != JsonReader::Type::object) return false;
  json.begin_object();
  return true;
}

/// The first bytes of a stream.
class StartOfStream : public std::streambuf {
 public:
  StartOfStream(std::istream& in, std::size_t bytes) : in_(in), left_(bytes) {}

 private:
  int_type underflow() override {
    in_.read(buffer_, static_cast<std::streamsize>(std::min(left_, sizeof(buffer_))));
    const std::streamsize got = in_.gcount();
    left_ -= static_cast<std::size_t>(got);
    setg(buffer_, buffer_, buffer_ + got);
    return got == 0 ? traits_type::eof() : traits_type::to_int_type(*buffer_);
  }

  std::istream& in_;
  std::size_t left_;
  char buffer_[1 << 16];
};

/// Runs test on the first 64 MiB of a file; false when these are not JSON as far as the test reads, or not enough.
template <class Test>
[[nodiscard]] bool probe_json(const std::string& path, const Test& test) {
  if (!is_regular_file(path)) return false;
  try {
    std::ifstream file = open_input(path);
    StartOfStream start(file, std::size_t{1} << 26);
    std::istream in(&start);
    JsonReader json(in, path);
    return test(json);
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace bdc
