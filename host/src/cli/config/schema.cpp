#include "cli/config/schema.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <type_traits>

#include "bdc/base/nearest.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/crowd_io.h"
#include "files/path_list.h"
#include "plugins/options.h"

namespace bdc::host {
namespace {

using plugin::int_option;
using plugin::string_option;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw UserError(ExitCode::config, where + ": " + what);
}

void require_object(const Json& value, const std::string& where) {
  if (!value.is_object()) fail(where, "expected an object, found " + type_of(value));
}

void check_free_options(const Json& options, const std::string& where) {
  require_object(options, where);
  for (const auto& [key, value] : options.items()) {
    if (value.is_structured() || value.is_null()) {
      fail(where + "." + printable(key), "expected true or false, a number or a string, found " + type_of(value));
    }
  }
}

/// "c.json: hooks.bdc", or "c.json: hooks[2]" for one without a name.
std::string place_of_hook(const Json& hook, std::size_t index, const std::string& where) {
  const bool named = hook.contains("name") && hook["name"].is_string() && !hook["name"].get<std::string>().empty();
  return named ? where + "." + printable(hook["name"].get<std::string>()) : where + "[" + std::to_string(index) + "]";
}

void check_hooks(const Json& hooks, const std::string& source) {
  const std::string where = source + ": hooks";
  if (!hooks.is_array())
    fail(where, "expected a list of {\"name\", \"priority\", \"options\"}, found " + type_of(hooks));
  std::set<std::string> names;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    require_object(hooks[i], where + "[" + std::to_string(i) + "]");
    const std::string at = place_of_hook(hooks[i], i, where);
    for (const auto& [key, value] : hooks[i].items()) {
      if (key == "name") {
        if (!value.is_string() || value.get<std::string>().empty()) {
          fail(at + ".name", "expected a hook's name, found " + type_of(value));
        }
        if (!names.insert(value.get<std::string>()).second) {
          fail(at + ".name", "hook '" + printable(value.get<std::string>()) + "' is in the list twice");
        }
      } else if (key == "priority") {
        (void)check_option(int_option("priority", 50, "", 0, 100), value, at + ".priority");
      } else if (key == "options") {
        check_free_options(value, at + ".options");
      } else {
        fail(at + "." + printable(key), "unknown key" + did_you_mean(key, {"name", "priority", "options"}));
      }
    }
    if (!hooks[i].contains("name")) fail(at, "has no \"name\"");
  }
}

/// Names that may stand directly below `prefix` ("" for the top).
std::vector<std::string> children(const std::string& prefix) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& path) {
    if (path.size() <= prefix.size() || path.compare(0, prefix.size(), prefix) != 0) return;
    const std::string name = path.substr(prefix.size(), path.find('.', prefix.size()) - prefix.size());
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  };
  for (const auto& key : config_keys()) add(key.spec.name);
  add("plugin.options");
  add("hooks");
  return out;
}

/// The key of any section whose last name is nearest; "" when none is near.
std::string in_another_section(const std::string& name) {
  std::vector<std::string> leaves;
  for (const auto& key : config_keys()) leaves.push_back(key.spec.name.substr(key.spec.name.rfind('.') + 1));
  const std::string near = nearest(name, leaves);
  if (near.empty()) return "";
  return config_keys()[static_cast<std::size_t>(std::find(leaves.begin(), leaves.end(), near) - leaves.begin())]
      .spec.name;
}

void check_section(const Json& section, const std::string& prefix, const std::string& source) {
  const auto known = children(prefix);
  for (const auto& [name, value] : section.items()) {
    const std::string path = prefix + name, where = source + ": " + printable(path);
    if (path == "_base_") continue;
    if (path == "hooks") {
      check_hooks(value, source);
      continue;
    }
    if (path == "plugin.options") {
      check_free_options(value, where);
      continue;
    }
    const auto& keys = config_keys();
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& k) { return k.spec.name == path; });
    if (key != keys.end()) {
      if (!(key->recommended && value.is_null())) (void)check_option(key->spec, value, where);
    } else if (std::find(known.begin(), known.end(), name) != known.end()) {
      require_object(value, where);
      check_section(value, path + ".", source);
    } else {
      std::string hint = nearest(name, known);
      hint = hint.empty() ? "" : prefix + hint;
      if (hint.empty()) hint = in_another_section(name);
      fail(where,
           hint.empty() ? "unknown key; known here: " + join(known) : "unknown key; did you mean '" + hint + "'?");
    }
  }
}

void put(Json& root, const std::string& path, Json value) {
  Json* at = &root;
  std::size_t from = 0;
  for (std::size_t dot; (dot = path.find('.', from)) != std::string::npos; from = dot + 1) {
    at = &(*at)[path.substr(from, dot - from)];
  }
  (*at)[path.substr(from)] = std::move(value);
}

// The rows of run_config.h as a schema.

struct Limits {
  std::optional<double> low, high;
  std::vector<std::string> choices;
};

Limits between(double low, double high) {
  return {low, high, {}};
}
Limits at_least(double low) {
  return {low, {}, {}};
}
Limits one_of(std::vector<std::string> choices) {
  return {{}, {}, std::move(choices)};
}
/// Of labels, or "" for the one that is detected.
std::vector<std::string> label_formats() {
  std::vector<std::string> names{""};
  for (const CrowdFormatInfo& format : crowd_formats()) names.emplace_back(format.name);
  return names;
}
Limits limits() {
  return {};
}
Limits limits(Limits given) {
  return given;
}

template <class Kind>
struct IsOptional : std::false_type {};
template <class Value>
struct IsOptional<std::optional<Value>> : std::true_type {};

PathKind path_kind(const std::string& kind) {
  return kind == "Path" ? PathKind::one : kind == "Paths" ? PathKind::several : PathKind::none;
}

plugin::OptionValue option_value(bool value) {
  return value;
}
plugin::OptionValue option_value(std::int64_t value) {
  return value;
}
plugin::OptionValue option_value(int value) {
  return std::int64_t{value};
}
plugin::OptionValue option_value(double value) {
  return value;
}
plugin::OptionValue option_value(std::string value) {
  return value;
}
plugin::OptionValue option_value(const char* value) {
  return std::string(value);
}

/// The start of a row: a default, or a function of what the detector says of itself.
template <class Start>
plugin::OptionValue default_of(const Start& start) {
  if constexpr (std::is_invocable_v<Start, const plugin::DetectorInfo&>) {
    return option_value(start(plugin::DetectorInfo()));  // never used but for its type
  } else {
    return option_value(start);
  }
}

template <class Start>
std::function<plugin::OptionValue(const plugin::DetectorInfo&)> recommended_by(const Start& start) {
  if constexpr (std::is_invocable_v<Start, const plugin::DetectorInfo&>) {
    return [start](const plugin::DetectorInfo& info) { return option_value(start(info)); };
  } else {
    return nullptr;
  }
}

template <class Kind>
void set_member(Kind& member, const Json& value) {
  if constexpr (IsOptional<Kind>::value) {
    member.reset();
    if (!value.is_null()) member = value.get<typename Kind::value_type>();
  } else {
    member = value.get<Kind>();
  }
}

std::vector<ConfigKey> make_keys() {
  std::vector<ConfigKey> keys;
  keys.push_back({string_option("plugin.name", "", "the detector; see `bdc-host plugins list`"), PathKind::none,
                  [](RunConfig& config, const Json& value) { set_member(config.plugin.name, value); }, nullptr});
#define BDC_ROW(kind, name, start, help, ...)                                                                 \
  {                                                                                                           \
    const Limits allowed = limits(__VA_ARGS__);                                                               \
    const auto begins = start;                                                                                \
    keys.push_back({{prefix + #name, default_of(begins), help, allowed.low, allowed.high, allowed.choices},   \
                    path_kind(#kind),                                                                         \
                    [of](RunConfig& config, const Json& given) { set_member<kind>(of(config).name, given); }, \
                    recommended_by(begins)});                                                                 \
  }
#define BDC_SECTION(path, KEYS)                       \
  {                                                   \
    const std::string prefix = #path ".";             \
    const auto of = [](RunConfig & config) -> auto& { \
      return config.path;                             \
    };                                                \
    KEYS(BDC_ROW)                                     \
  }
  BDC_SECTION(data, BDC_DATA_KEYS)
  BDC_SECTION(data.shapes, BDC_SHAPES_KEYS)
  BDC_SECTION(data.shapes.crowd, BDC_CROWD_KEYS)
  BDC_SECTION(train, BDC_TRAIN_KEYS)
  BDC_SECTION(train.augment, BDC_AUGMENT_KEYS)
  BDC_SECTION(evaluate, BDC_EVALUATE_KEYS)
  BDC_SECTION(output, BDC_OUTPUT_KEYS)
#undef BDC_SECTION
#undef BDC_ROW
  return keys;
}

/// The value at a dotted path. It must be there.
const Json& value_at(const Json& config, const std::string& path) {
  const Json* at = &config;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    at = &at->at(path.substr(from, dot - from));
    from = dot + 1;
  }
  return *at;
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

Json default_config() {
  Json out = Json::object();
  for (const auto& key : config_keys()) {
    put(out, key.spec.name, key.recommended ? Json(nullptr) : to_json(key.spec.default_value));
    if (key.spec.name == "plugin.name") {
      out["plugin"]["options"] = Json::object();
      out["hooks"] = Json::array();
    }
  }
  return out;
}

void check_layer(const Json& layer, const std::string& source) {
  if (!layer.is_object()) fail(source, "expected an object at the top, found " + type_of(layer));
  check_section(layer, "", source);
}

void fill_recommended(Json& config, const plugin::DetectorInfo& info) {
  for (const ConfigKey& key : config_keys()) {
    if (key.recommended && value_at(config, key.spec.name).is_null()) {
      put(config, key.spec.name, to_json(key.recommended(info)));
    }
  }
}

RunConfig settings_of(const Json& config) {
  RunConfig out;
  for (const ConfigKey& key : config_keys()) key.set(out, value_at(config, key.spec.name));
  return out;
}

Json with_absolute_paths(Json config) {
  const auto absolute = [](const std::string& path) {
    return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
  };
  for (const ConfigKey& key : config_keys()) {
    if (key.path == PathKind::none) continue;
    const auto given = value_at(config, key.spec.name).get<std::string>();
    std::vector<std::string> all;
    for (const std::string& path : key.path == PathKind::one ? std::vector<std::string>{given} : path_list(given)) {
      all.push_back(absolute(path));
    }
    put(config, key.spec.name, join(all, ","));
  }
  return config;
}

}  // namespace bdc::host
