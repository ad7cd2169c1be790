#include "crowd/data_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <istream>
#include <map>
#include <optional>

#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

constexpr std::size_t max_size = std::size_t{1} << 24;
constexpr std::size_t max_names = 1000000;

class DataYamlReader {
 public:
  DataYamlReader(std::istream& in, const std::string& name) : file_(name) {
    std::string text = read_all(in, name, max_size);
    if (!is_utf8(text)) throw DataError(name + ": expected text in UTF-8, found other bytes");
    try {
      root_ = YAML::Load(text);
    } catch (const YAML::Exception& error) {
      throw DataError(name + ":" + std::to_string(line_of(error.mark)) + ": broken YAML: " + printable(error.msg));
    }
    if (!root_.IsMap()) throw DataError(name + ":1: expected \"names: ...\" and other members, found none");
  }

  DataYaml read() {
    DataYaml out;
    std::map<std::string, YAML::Node> members;
    for (const auto& member : root_) {
      if (!member.first.IsScalar()) continue;
      const std::string& key = member.first.Scalar();
      if (!members.emplace(key, member.second).second) {
        fail(member.first, "expected the member " + in_quotes(key) + " once, found it twice");
      }
    }
    if (const auto at = members.find("path"); at != members.end() && !at->second.IsNull()) {
      out.path = place_of(at->second, "a folder after \"path:\"");
    }
    read_splits(members, out);
    if (const auto at = members.find("image_dir"); at != members.end() && !at->second.IsNull()) {
      out.image_dir = place_of(at->second, "a folder after \"image_dir:\"");
    }
    if (const auto at = members.find("n_annotator"); at != members.end() && !at->second.IsNull()) {
      out.num_annotators = parse_integer(text_of(at->second, "a number after \"n_annotator:\""));
      if (!out.num_annotators || *out.num_annotators < 1) {
        fail(at->second,
             "expected the number of annotators after \"n_annotator:\", found " + in_quotes(at->second.Scalar()));
      }
    }
    if (const auto at = members.find("kpt_shape"); at != members.end() && !at->second.IsNull()) {
      out.key_numbers = key_numbers_of(at->second);
    }
    if (const auto at = members.find("names"); at != members.end()) {
      out.names = names_of(at->second);
      out.has_names = true;
    }
    if (const auto at = members.find("nc"); at != members.end() && out.has_names) check_count(at->second, out.names);
    return out;
  }

 private:
  static std::size_t line_of(const YAML::Mark& mark) {
    return mark.is_null() ? 1 : static_cast<std::size_t>(mark.line) + 1;
  }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& message) const {
    throw DataError(file_ + ":" + std::to_string(line_of(node.Mark())) + ": " + message);
  }

  [[nodiscard]] std::string text_of(const YAML::Node& node, const std::string& expected) const {
    if (!node.IsScalar()) {
      fail(node, "expected " + expected + ", found " +
                     (node.IsNull()       ? "nothing (a word such as null needs quotes)"
                      : node.IsSequence() ? "a list"
                                          : "members"));
    }
    if (node.Scalar().empty()) fail(node, "expected " + expected + ", found nothing");
    return node.Scalar();
  }

  /// A place, with / between folders, as Windows writes them or not.
  [[nodiscard]] std::string place_of(const YAML::Node& node, const std::string& expected) const {
    std::string place = text_of(node, expected);
    std::replace(place.begin(), place.end(), '\\', '/');
    return place;
  }

  void read_splits(const std::map<std::string, YAML::Node>& members, DataYaml& out) const {
    for (const char* split : {"train", "val", "test"}) {
      auto at = members.find(split);
      if (std::string_view(split) == "val") {
        for (const char* other : {"valid", "validation"}) {
          if (at == members.end()) at = members.find(other);
        }
      }
      if (at == members.end() || at->second.IsNull()) continue;
      const YAML::Node& node = at->second;
      DataYaml::Split found{split, {}, line_of(node.Mark())};
      const std::string expected = "a folder, a list file or a list of them after \"" + at->first + ":\"";
      if (node.IsSequence()) {
        for (const YAML::Node& place : node) found.places.push_back(place_of(place, expected));
        if (found.places.empty()) continue;
      } else if (node.IsScalar() && node.Scalar().empty()) {
        continue;
      } else {
        found.places.push_back(place_of(node, expected));
      }
      out.splits.push_back(std::move(found));
    }
  }

  /// "kpt_shape: [17, 3]": so many key points of two or three numbers each.
  [[nodiscard]] std::size_t key_numbers_of(const YAML::Node& node) const {
    constexpr std::int64_t most = 10000;
    std::vector<std::int64_t> shape;
    if (node.IsSequence() && node.size() == 2) {
      for (const YAML::Node& part : node) {
        shape.push_back(part.IsScalar() ? parse_integer(part.Scalar()).value_or(-1) : -1);
      }
    }
    if (shape.size() != 2 || shape[0] < 0 || shape[0] > most || shape[1] < 2 || shape[1] > 3) {
      fail(node, "expected kpt_shape to be the number of key points and 2 or 3, such as [17, 3]");
    }
    return static_cast<std::size_t>(shape[0] * shape[1]);
  }

  [[nodiscard]] std::vector<std::string> names_of(const YAML::Node& node) const {
    std::vector<std::string> out;
    if (node.IsSequence()) {
      for (const YAML::Node& name : node) {
        if (out.size() == max_names) fail(name, "expected at most a million class names");
        out.push_back(text_of(name, "a class name"));
      }
      return out;
    }
    if (!node.IsMap()) {
      const std::string found = node.IsScalar() ? in_quotes(node.Scalar()) : std::string("nothing");
      fail(node, "expected a list or a map after \"names:\", found " + found);
    }
    std::map<std::size_t, std::string> names;
    for (const auto& member : node) {
      const std::string key = member.first.IsScalar() ? member.first.Scalar() : std::string();
      const auto number = parse_integer(key);
      if (!number || *number < 0 || *number >= static_cast<std::int64_t>(max_names)) {
        fail(member.first, "expected \"number: class name\", found " + in_quotes(key));
      }
      if (!names.emplace(static_cast<std::size_t>(*number), text_of(member.second, "a class name")).second) {
        fail(member.first, "class " + key + " is named twice");
      }
    }
    for (const auto& [index, name] : names) {
      if (index != out.size()) {
        throw DataError(file_ + ": expected class numbers from 0 without gaps, found no class " +
                        std::to_string(out.size()));
      }
      out.push_back(name);
    }
    return out;
  }

  void check_count(const YAML::Node& node, const std::vector<std::string>& names) const {
    const auto count = node.IsScalar() ? parse_integer(node.Scalar()) : std::optional<std::int64_t>();
    if (count && *count == static_cast<std::int64_t>(names.size())) return;
    fail(node, "expected nc to be the number of names (" + std::to_string(names.size()) + "), found " +
                   (node.IsScalar() ? in_quotes(node.Scalar()) : std::string("something else")) +
                   "; correct nc, or leave it out");
  }

  std::string file_;
  YAML::Node root_;
};

}  // namespace

DataYaml read_data_yaml(std::istream& in, const std::string& name) {
  try {
    return DataYamlReader(in, name).read();
  } catch (const YAML::Exception& error) {
    throw DataError(name + ": broken YAML: " + printable(error.msg));
  }
}

bool is_crowds_yaml(const std::string& path) {
  if (!is_yaml_name(path) || !is_regular_file(path)) return false;
  try {
    std::ifstream in = open_input(path);
    return read_data_yaml(in, path).is_crowds();
  } catch (const DataError&) {
    return false;
  }
}

bool is_yaml_name(const std::string& path) {
  const std::string lower = lower_case(path);
  return ends_with(lower, ".yaml") || ends_with(lower, ".yml");
}

}  // namespace bdc
