#include "files/json_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <system_error>
#include <vector>

#include "bdc/base/atomic_file.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kMaxBytes = 16u << 20;
constexpr int kMaxDepth = 64;

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw UserError(ExitCode::config, path.string() + ": " + what);
}

std::string read_text(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (error && error != std::errc::no_such_file_or_directory) fail(path, "cannot be read: " + error.message());
  if (!fs::exists(status)) fail(path, "no such file");
  if (fs::is_directory(status)) fail(path, "is a folder, expected a JSON file");
  if (!fs::is_regular_file(status)) fail(path, "is not a regular file");
  const auto size = fs::file_size(path, error);
  if (!error && size > kMaxBytes) fail(path, "has " + std::to_string(size) + " bytes, more than the limit of 16 MiB");
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, std::string("cannot be opened: ") + std::strerror(errno));
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) fail(path, "cannot be read to the end");
  return text;
}

/// What the parser says, "[...] parse error at line 2, column 7: syntax error while parsing X - unexpected ',';
/// expected Y" or "... - invalid literal; last read: 'tru}'", as "line 2, column 7: unexpected ','".
std::string in_plain_words(const std::string& said) {
  const auto from = said.find("line ");
  const auto colon = said.find(": ", from);
  if (from == std::string::npos || colon == std::string::npos) return said;
  const std::string place = said.substr(from, colon - from);
  const auto read = said.find("last read: "), unexpected = said.find("unexpected ", colon);
  if (said.find("unexpected end of input") != std::string::npos) return place + ": the file ends too early";
  if (read != std::string::npos) {
    const auto from_text = read + std::strlen("last read: ");
    const auto end = said.find("'; expected", from_text);
    return place + ": unexpected " + said.substr(from_text, end == std::string::npos ? end : end + 1 - from_text);
  }
  if (unexpected == std::string::npos) return place;
  return place + ": " + said.substr(unexpected, said.find(';', unexpected) - unexpected);
}

}  // namespace

Json read_json_file(const fs::path& path) {
  const std::string text = read_text(path);
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) fail(path, "is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      fail(path, "key '" + printable(parsed.get<std::string>()) + "' appears twice in one object");
    }
    return true;
  };
  const auto first = text.find_first_not_of(" \t\r\n", text.rfind("\xEF\xBB\xBF", 0) == 0 ? 3 : 0);
  if (first != std::string::npos && text[first] == '<') fail(path, "expected JSON, found XML");
  try {
    return Json::parse(text, watch, /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const Json::parse_error& e) {
    fail(path, "is not valid JSON: " + printable(in_plain_words(e.what()), 400));
  } catch (const Json::out_of_range& e) {
    const std::string what = e.what();  // "[...] number overflow parsing '1e999'"
    fail(path, "holds a number out of range: " + printable(what.substr(std::min(what.find('\''), what.size())), 60));
  }
}

std::string type_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "the string \"" + printable(value.get<std::string>(), 60) + "\"";
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    default:
      return "the number " + value.dump();
  }
}

std::string member_place(const std::string& where, const std::string& name) {
  return where + (where.find(": ") == std::string::npos ? ": " : ".") + name;
}

}  // namespace bdc::host
