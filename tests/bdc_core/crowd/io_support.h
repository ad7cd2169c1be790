#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "bdc/base/error.h"
#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/crowd_io.h"

namespace bdc::test {

inline std::string data_path(const std::string& name) {
  return std::string(BDC_TEST_DATA) + "/bdc_core/data/" + name;
}

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
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

/// A folder of its own for a test; removed at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bdc_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path full = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << text;
    return full.string();
  }

 private:
  std::string path_;
};

inline void expect_same_id(const ExternalId& a, const ExternalId& b) {
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.is_integer, b.is_integer) << a.text;
}

}  // namespace bdc::test
