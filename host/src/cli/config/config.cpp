#include "cli/config/config.h"

#include <algorithm>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "cli/config/import_config.h"
#include "cli/config/key_and_value.h"
#include "cli/config/schema.h"
#include "plugins/options.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

/// Members of `over` replace those of `base`; objects are merged member by member, everything else is replaced whole.
void merge(Json& base, const Json& over) {
  for (const auto& [key, value] : over.items()) {
    if (value.is_object() && base.contains(key) && base[key].is_object()) {
      merge(base[key], value);
    } else {
      base[key] = value;
    }
  }
}

std::vector<std::string> bases_of(const Json& layer, const std::string& source) {
  if (!layer.contains("_base_")) return {};
  const Json& base = layer["_base_"];
  const auto fail = [&](const Json& found) {
    throw UserError(ExitCode::config,
                    source + ": _base_: expected a file name or a list of file names, found " + type_of(found));
  };
  if (base.is_string()) return {base.get<std::string>()};
  if (!base.is_array()) fail(base);
  std::vector<std::string> out;
  for (const auto& entry : base) {
    if (!entry.is_string()) fail(entry);
    out.push_back(entry.get<std::string>());
  }
  return out;
}

/// A config file on top of its bases. `open` is the chain of files that are being read, to find cycles; `files` counts
/// all that were read, so that lists of lists of bases stay bounded. `layers` gets each file, bases first.
Json load_file(const fs::path& path, std::vector<fs::path>& open, int& files, std::vector<ConfigLayer>& layers) {
  std::error_code ignored;
  const fs::path canonical = fs::weakly_canonical(path, ignored);
  if (std::find(open.begin(), open.end(), canonical) != open.end()) {
    std::vector<std::string> chain;
    for (const auto& file : open) chain.push_back(file.string());
    chain.push_back(canonical.string());
    throw UserError(ExitCode::config, path.string() + ": _base_ leads back to itself: " + join(chain, " -> "));
  }
  if (++files > 100) throw UserError(ExitCode::config, path.string() + ": more than 100 files through _base_");
  const std::string extension = lower_case(path.extension().string());
  if (extension == ".yaml" || extension == ".yml") {
    throw UserError(ExitCode::config,
                    path.string() +
                        ": is YAML by its name, and a config is JSON; hyperparameters of another program are "
                        "read with --import-config FILE, a data.yaml with --data FILE");
  }
  if (extension == ".py") {
    throw UserError(ExitCode::config, path.string() + ": is a program, and programs are never run; a config is JSON");
  }
  open.push_back(canonical);
  Json own = read_json_file(path);
  check_layer(own, path.string());
  Json merged = Json::object();
  for (const auto& base : bases_of(own, path.string())) {
    const fs::path file = path.parent_path() / base;
    if (fs::status(file, ignored).type() == fs::file_type::not_found) {
      throw UserError(ExitCode::config,
                      path.string() + ": _base_: " + printable(file.string(), 400) + ": no such file");
    }
    merge(merged, load_file(file, open, files, layers));
  }
  own.erase("_base_");
  merge(merged, own);
  layers.push_back({path.string(), own});
  open.pop_back();
  return merged;
}

/// Text of a command-line value as JSON where it is JSON (3, true, 0.5, "x"), otherwise as a string.
Json typed(const std::string& text) {
  const Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return parsed.is_discarded() || parsed.is_structured() ? Json(text) : parsed;
}

/// Returns what the text sets.
Json apply_set(Json& config, const std::string& text) {
  const auto [path, value_text] = key_and_value("--set", text, "KEY=VALUE, such as train.epochs=3");
  const auto& keys = config_keys();
  const auto key =
      std::find_if(keys.begin(), keys.end(), [&, name = path](const ConfigKey& k) { return k.spec.name == name; });
  const bool is_text = key != keys.end() && std::holds_alternative<std::string>(key->spec.default_value);
  Json value = is_text ? Json(value_text) : typed(value_text);
  if (is_text && key->recommended && value_text == "null") value = nullptr;
  Json layer = std::move(value);
  for (std::size_t end = path.size(); end != std::string::npos;) {  // wrap from the innermost name outwards
    const auto dot = end == 0 ? std::string::npos : path.rfind('.', end - 1);
    const std::string name =
        path.substr(dot == std::string::npos ? 0 : dot + 1, end - (dot == std::string::npos ? 0 : dot + 1));
    Json outer = Json::object();
    outer[name] = std::move(layer);
    layer = std::move(outer);
    end = dot;
  }
  check_layer(layer, "--set");
  merge(config, layer);
  return layer;
}

/// A hook on the command line replaces the one of that name in the config, options given are merged over its. Returns
/// what the text says as a layer.
Json apply_hook(Json& config, const std::string& text) {
  const auto colon = text.find(':');
  const std::string name = text.substr(0, colon);
  constexpr const char* kForm = "NAME[:KEY=VALUE,...]";
  if (name.empty()) throw UserError(ExitCode::usage, "--hook " + in_quotes(text) + ": expected " + kForm);
  Json hook = {{"name", name}, {"options", Json::object()}};
  if (colon != std::string::npos) {
    for (std::size_t from = colon + 1, comma = 0; comma != std::string::npos; from = comma + 1) {
      comma = text.find(',', from);
      const std::string pair = text.substr(from, comma == std::string::npos ? comma : comma - from);
      if (pair.find('=') == std::string::npos || pair[0] == '=') {
        throw UserError(ExitCode::usage, "--hook " + in_quotes(text) + ": expected " + kForm + ", found " +
                                             in_quotes(pair) + " after the name");
      }
      const auto [key, value] = key_and_value("--hook", pair, kForm);
      if (hook.contains(key) || hook["options"].contains(key)) {
        throw UserError(ExitCode::usage, "--hook " + printable(text) + ": '" + printable(key) + "' is given twice");
      }
      if (key == "priority") {
        hook["priority"] = typed(value);
      } else {
        hook["options"][key] = typed(value);
      }
    }
  }
  Json layer = {{"hooks", Json::array({hook})}};
  check_layer(layer, "--hook");
  for (auto& existing : config["hooks"]) {
    if (existing["name"] == name) {
      merge(existing, hook);
      return layer;
    }
  }
  config["hooks"].push_back(hook);
  return layer;
}

}  // namespace

Json resolve_config(const ConfigRequest& request, std::vector<ConfigLayer>* layers, std::vector<std::string>* notes) {
  Json config = default_config();
  std::vector<ConfigLayer> all;
  if (request.imported) {
    ImportedConfig imported = import_config(*request.imported);
    merge(config, imported.layer);
    all.push_back({request.imported->string(), std::move(imported.layer)});
    if (notes != nullptr) notes->insert(notes->end(), imported.notes.begin(), imported.notes.end());
  }
  if (request.file) {
    std::vector<fs::path> open;
    int files = 0;
    merge(config, load_file(*request.file, open, files, all));
  }
  if (!request.plugin.empty()) {
    if (config["plugin"]["name"] != request.plugin) {
      config["plugin"]["options"] = Json::object();
      for (ConfigLayer& layer : all) layer.content.erase("plugin");
    }
    config["plugin"]["name"] = request.plugin;
  }
  for (const auto& hook : request.hooks) all.push_back({"--hook", apply_hook(config, hook)});
  for (const auto& set : request.sets) all.push_back({"--set", apply_set(config, set)});
  if (layers != nullptr) *layers = std::move(all);
  return config;
}

Json with_sets(const Json& config, const std::vector<std::string>& sets) {
  Json out = default_config();
  merge(out, config);
  for (const auto& set : sets) (void)apply_set(out, set);
  return out;
}

}  // namespace bdc::host
