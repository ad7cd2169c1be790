#include "plugins/catalog.h"

#include <algorithm>
#include <cstdlib>

#include "bdc/base/nearest.h"
#include "bdc/base/text.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> split_paths(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= text.size();) {
    const auto end = std::min(text.find(':', from), text.size());
    if (end > from) out.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] void bad_registry(const std::string& where, const std::string& what) {
  throw UserError(ExitCode::config, where + ": " + what);
}

std::string text_member(const Json& entry, const std::string& key, const std::string& where, bool required) {
  if (!entry.contains(key)) {
    if (required) bad_registry(where, "has no \"" + key + "\"");
    return "";
  }
  if (!entry[key].is_string()) bad_registry(where + "." + key, "expected a string, found " + type_of(entry[key]));
  return entry[key].get<std::string>();
}

void look_into(PluginEntry& entry) {
  try {
    entry.note = read_plugin_note(entry.file);
    const std::string why = mismatch(Fingerprint::of_host(), entry.note->fingerprint);
    if (!why.empty()) {
      entry.problem = entry.file.string() + ": " + why;
      entry.problem_code = ExitCode::abi_mismatch;
    }
  } catch (const UserError& e) {
    entry.problem = e.what();
    entry.problem_code = e.code();
  }
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return a == b || fs::equivalent(a, b, ignored);
}

bool provides(const PluginEntry& entry, Catalog::Kind kind) {
  if (!entry.note) return true;  // broken: it may have been meant as either
  return kind == Catalog::Kind::detector ? entry.note->has_detector : entry.note->has_hook;
}

}  // namespace

fs::path program_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

Catalog Catalog::read(const SearchRequest& request) {
  Catalog catalog;
  const fs::path program = program_folder();
  const std::string from_environment = environment("BDC_REGISTRY");
  const std::string named = !request.registry.empty() ? request.registry : from_environment;
  if (!named.empty()) {
    catalog.add_registry(named);
  } else {
    for (const fs::path& candidate : {fs::path("registry.json"), program / ".." / "registry.json",
                                      program / ".." / "share" / "bdc" / "registry.json"}) {
      catalog.registry_tried_.push_back(candidate.lexically_normal());
      std::error_code ignored;
      if (fs::exists(candidate, ignored)) {
        catalog.add_registry(candidate.lexically_normal());
        break;
      }
    }
  }
  for (const auto& group : request.folders) {
    for (const auto& folder : split_paths(group)) catalog.add_folder(folder);
  }
  for (const auto& folder : split_paths(environment("BDC_PLUGIN_PATH"))) catalog.add_folder(folder);
  if (!catalog.registry_file_.empty()) catalog.add_folder(catalog.registry_file_.parent_path() / "plugins");
  catalog.add_folder(program / ".." / "plugins");
  catalog.add_folder(program / ".." / "lib" / "bdc" / "plugins");
  return catalog;
}

void Catalog::add_registry(const fs::path& file) {
  const Json root = read_json_file(file);
  const std::string name = file.string();
  if (!root.is_object()) bad_registry(name, "expected an object at the top, found " + type_of(root));
  for (const auto& [key, value] : root.items()) {
    if (key != "schema_version" && key != "plugins" && key != "hooks") {
      bad_registry(name + ": " + printable(key),
                   "unknown key" + did_you_mean(key, {"schema_version", "plugins", "hooks"}));
    }
  }
  if (!root.contains("schema_version")) bad_registry(name, "has no \"schema_version\"; expected \"schema_version\": 1");
  const Json& version = root["schema_version"];
  if (!version.is_number_integer()) {
    bad_registry(name + ": schema_version", "expected the integer 1, found " + type_of(version));
  }
  if (version != 1) {
    bad_registry(name + ": schema_version", "is " + version.dump() + ", but this program reads version 1");
  }
  registry_file_ = file;
  if (root.contains("plugins")) add_registry_list(root["plugins"], "plugins", Kind::detector);
  if (root.contains("hooks")) add_registry_list(root["hooks"], "hooks", Kind::hook);
}

void Catalog::add_registry_list(const Json& list, const char* key, Kind kind) {
  const std::string where = registry_file_.string() + ": " + key;
  if (!list.is_array()) bad_registry(where, "expected a list, found " + type_of(list));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = where + "[" + std::to_string(i) + "]";
    const Json& item = list[i];
    if (!item.is_object()) bad_registry(at, "expected an object, found " + type_of(item));
    for (const auto& [member, value] : item.items()) {
      const std::vector<std::string> known = {"name", "library", "description", "options"};
      if (std::find(known.begin(), known.end(), member) == known.end()) {
        bad_registry(at + "." + printable(member), "unknown key" + did_you_mean(member, known));
      }
    }
    PluginEntry entry;
    entry.name = text_member(item, "name", at, true);
    if (!is_plugin_name(entry.name)) {
      bad_registry(at + ".name", "'" + printable(entry.name, 64) +
                                     "' is not a plugin name (lower case letters, digits, _ and -, at most 64)");
    }
    const auto earlier = std::find(names.begin(), names.end(), entry.name);
    if (earlier != names.end()) {
      bad_registry(at + ".name", "'" + entry.name + "' is in the list twice, here and in " + key + "[" +
                                     std::to_string(earlier - names.begin()) + "]");
    }
    names.push_back(entry.name);
    const std::string library = text_member(item, "library", at, true);
    if (library.empty() || library.find('\0') != std::string::npos) {
      bad_registry(at + ".library", "expected the path of a shared library");
    }
    entry.file = (registry_file_.parent_path() / library).lexically_normal();
    entry.place = at;
    entry.description = text_member(item, "description", at, false);
    if (item.contains("options")) {
      if (!item["options"].is_object()) {
        bad_registry(at + ".options", "expected an object, found " + type_of(item["options"]));
      }
      entry.options = item["options"];
    }
    look_into(entry);
    if (entry.note && entry.problem.empty()) {
      if (entry.note->name != entry.name) {
        entry.problem = at + ": is named '" + entry.name + "', but " + entry.file.string() + " calls itself '" +
                        entry.note->name + "'\n  advice: use the plugin's own name in registry.json";
        entry.problem_code = ExitCode::config;
      } else if (!provides(entry, kind)) {
        entry.problem = at + ": " + entry.file.string() + " holds no " + (kind == Kind::hook ? "hook" : "detector");
        entry.problem_code = ExitCode::config;
      }
    }
    // One library that is listed under plugins and under hooks is one entry.
    const bool known = std::any_of(entries_.begin(), entries_.end(),
                                   [&](const PluginEntry& e) { return e.name == entry.name && e.file == entry.file; });
    if (!known) entries_.push_back(std::move(entry));
  }
}

void Catalog::add_folder(const fs::path& given) {
  const fs::path folder = given.lexically_normal();
  if (std::any_of(folders_.begin(), folders_.end(), [&](const fs::path& f) { return same_file(f, folder); })) return;
  folders_.push_back(folder);
  folder_notes_.emplace_back();
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator it(folder, error);
  if (error) {
    folder_notes_.back() = error == std::errc::no_such_file_or_directory ? "no such folder" : error.message();
    return;
  }
  for (; it != fs::directory_iterator(); it.increment(error)) {
    if (error) {
      folder_notes_.back() = error.message();
      break;
    }
    if (it->path().extension() == ".so") files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const bool listed =
        std::any_of(entries_.begin(), entries_.end(), [&](const PluginEntry& e) { return same_file(e.file, file); });
    if (listed) continue;
    PluginEntry entry;
    entry.file = file;
    look_into(entry);
    entry.name = entry.note ? entry.note->name : printable(file.stem().string(), 64);
    entries_.push_back(std::move(entry));
  }
}

bool Catalog::has(const std::string& name, Kind kind) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const PluginEntry& e) { return e.name == name && provides(e, kind); });
}

const PluginEntry& Catalog::find(const std::string& name, Kind kind, const std::vector<std::string>& also_known) const {
  std::vector<const PluginEntry*> found;
  std::vector<std::string> names = also_known;
  for (const auto& entry : entries_) {
    if (!provides(entry, kind)) continue;
    if (entry.problem.empty()) names.push_back(entry.name);
    if (entry.name == name) found.push_back(&entry);
  }
  const std::string what = kind == Kind::detector ? "plugin" : "hook";
  // One that can be loaded is not held up by others of its name that cannot.
  const auto is_broken = [](const PluginEntry* entry) { return !entry->problem.empty(); };
  if (!std::all_of(found.begin(), found.end(), is_broken)) {
    found.erase(std::remove_if(found.begin(), found.end(), is_broken), found.end());
  }
  if (found.size() > 1) {
    std::string message = "two " + what + "s are named '" + name + "':";
    for (const auto* entry : found) {
      message +=
          "\n  " + entry->file.string() + (entry->place.empty() ? " (found in its folder)" : " (" + entry->place + ")");
    }
    throw UserError(ExitCode::config, message + "\n  advice: remove one, or leave its folder out of the search path");
  }
  if (found.size() == 1) {
    if (!found[0]->problem.empty())
      throw UserError(found[0]->problem_code, what + " '" + name + "': " + found[0]->problem);
    return *found[0];
  }
  std::string message = "no " + what + " is named '" + printable(name, 64) + "'" + did_you_mean(name, names);
  message += "\n  tried:";
  if (registry_file_.empty()) {
    for (const auto& path : registry_tried_) message += "\n    " + path.string() + " (no such file)";
  } else {
    message += "\n    " + registry_file_.string() + " (no entry of that name)";
  }
  for (std::size_t i = 0; i < folders_.size(); ++i) {
    message += "\n    " + (folders_[i] / (name + ".so")).string() +
               (folder_notes_[i].empty() ? "" : " (" + folder_notes_[i] + ")");
  }
  message += "\n  advice: put the plugin's .so into one of these folders, or name its folder with --plugin-path";
  throw UserError(ExitCode::plugin_not_found, message);
}

}  // namespace bdc::host
