#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "bdc/base/error.h"
#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/crowd_io.h"
#include "support/temporary_folder.h"

namespace bdc::test {

inline std::string data_path(const std::string& name) {
  return std::string(BDC_TEST_DATA) + "/bdc_core/data/" + name;
}

/// The text of a hand-written file of tests/bdc_core/data.
inline std::string data_text(const std::string& name) {
  return read_file(data_path(name));
}

/// The text of a hand-written file with one place changed; fails the test when the place is not there.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "no " << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// What of the DataError that body throws; empty (and a failed test) when it throws none.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const DataError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no DataError";
  return {};
}

inline CrowdData parse(const std::string& text, const std::string& format, const std::string& name = "in",
                       ReadOptions options = {}) {
  std::istringstream in(text);
  options.format = format;
  return parse_crowd(in, name, options);
}

inline std::string parse_error(const std::string& text, const std::string& format, const std::string& name = "in",
                               const ReadOptions& options = {}) {
  return error_of([&] { static_cast<void>(parse(text, format, name, options)); });
}

/// What is wrong with a file, and a part of the message that must come of it.
struct BrokenFile {
  std::string text, message;
};

/// Expects every text to be refused by `read` (text -> message) with its message.
template <class Read>
void expect_refused(const std::vector<BrokenFile>& files, const Read& read) {
  for (const auto& [text, message] : files) {
    const std::string error = read(text);
    EXPECT_NE(error.find(message), std::string::npos) << "expected " << message << "\nfound " << error;
  }
}

/// The same for the reader of a format.
inline void expect_refused_by(const std::string& format, const std::vector<BrokenFile>& files,
                              const std::string& name = "in", const ReadOptions& options = {}) {
  expect_refused(files, [&](const std::string& text) { return parse_error(text, format, name, options); });
}

/// The path of a file in the folder.
inline std::string operator/(const TemporaryFolder& folder, const std::string& name) {
  return (folder.path() / name).string();
}

inline void expect_same_id(const ExternalId& a, const ExternalId& b) {
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.is_integer, b.is_integer) << a.text;
}

}  // namespace bdc::test
