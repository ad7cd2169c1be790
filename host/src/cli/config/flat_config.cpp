#include "cli/config/flat_config.h"

#include <yaml-cpp/yaml.h>

#include <fstream>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "files/json_file.h"

namespace bdc::host {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 24, kMostValues = 100000, kMostDepth = 40;

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw UserError(ExitCode::config, file + ": " + why);
}

void add(FlatConfig& out, const std::string& file, const std::string& path, const std::string& value) {
  if (out.order.size() == kMostValues) refuse(file, "expected at most " + std::to_string(kMostValues) + " values");
  if (!out.value.emplace(path, value).second) refuse(file, "the key " + in_quotes(path) + " is given twice");
  out.order.push_back(path);
}

std::string below(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

void flatten(const YAML::Node& node, const std::string& file, const std::string& path, std::size_t depth,
             FlatConfig& out) {
  if (depth > kMostDepth) refuse(file, "is nested more than " + std::to_string(kMostDepth) + " levels deep");
  if (node.IsMap()) {
    for (const auto& member : node) {
      if (!member.first.IsScalar()) refuse(file, "expected names as keys, found something else");
      flatten(member.second, file, below(path, member.first.Scalar()), depth + 1, out);
    }
  } else if (node.IsSequence()) {
    std::size_t n = 0;
    for (const YAML::Node& element : node) flatten(element, file, below(path, std::to_string(n++)), depth + 1, out);
    if (n == 0) add(out, file, path, "");
  } else {
    add(out, file, path, node.IsScalar() ? node.Scalar() : "");
  }
}

void flatten(const Json& node, const std::string& file, const std::string& path, std::size_t depth, FlatConfig& out) {
  if (depth > kMostDepth) refuse(file, "is nested more than " + std::to_string(kMostDepth) + " levels deep");
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) flatten(value, file, below(path, key), depth + 1, out);
  } else if (node.is_array()) {
    std::size_t n = 0;
    for (const Json& element : node) flatten(element, file, below(path, std::to_string(n++)), depth + 1, out);
    if (n == 0) add(out, file, path, "");
  } else {
    add(out, file, path, node.is_string() ? node.get<std::string>() : node.is_null() ? "" : node.dump());
  }
}

}  // namespace

FlatConfig read_flat_config(const std::filesystem::path& path) {
  const std::string file = path.string(), extension = lower_case(path.extension().string());
  if (extension == ".py") {
    refuse(file,
           "is a program, and programs are never run; let its own program write the config out: MMDetection "
           "cfg.dump(\"config.json\"), Detectron2 cfg.dump() into a .yaml");
  }
  if (extension == ".json") {
    const Json json = read_json_file(path);
    if (!json.is_object()) refuse(file, "expected a JSON object, found " + type_of(json));
    FlatConfig out;
    flatten(json, file, "", 0, out);
    return out;
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(file, "cannot be opened");
  std::string text(kMostBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMostBytes) refuse(file, "expected a config, found a file of more than 16 MiB");
  return parse_flat_yaml(text, file);
}

FlatConfig parse_flat_yaml(const std::string& text, const std::string& file) {
  if (!is_utf8(text)) refuse(file, "expected text in UTF-8, found other bytes");
  FlatConfig out;
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) refuse(file, "expected keys and values, found none");
    flatten(root, file, "", 0, out);
  } catch (const YAML::Exception& error) {
    refuse(file, "broken YAML: " + printable(error.msg));
  }
  return out;
}

}  // namespace bdc::host
