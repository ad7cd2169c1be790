#pragma once

#include <cstdint>
#include <fstream>
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

/// Runs test on the start of a file; false when it is not JSON as far as the test reads.
template <class Test>
[[nodiscard]] bool probe_json(const std::string& path, const Test& test) {
  if (!is_regular_file(path)) return false;
  try {
    std::ifstream in = open_input(path);
    JsonReader json(in, path);
    return test(json);
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace bdc
