#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bdc/base/user_error.h"
#include "files/json_file.h"
#include "plugins/elf_note.h"

namespace bdc::host {

/// Where plugins are looked for.
struct SearchRequest {
  std::string registry;  ///< --registry, or "": $BDC_REGISTRY, ./registry.json, beside the program, installed
  std::vector<std::string> folders;  ///< --plugin-path, in order; each may hold several, separated by ':'
};

/// One plugin file that was found or that registry.json names.
struct PluginEntry {
  std::string name;  ///< as registry.json or the file's note says; the file's stem when it has no note
  std::filesystem::path file;
  std::string place;        ///< where registry.json lists it, "registry.json: plugins[0]"; empty: found in a folder
  std::string description;  ///< from registry.json
  Json options = Json::object();  ///< defaults from registry.json, below what a config says
  std::optional<PluginNote> note;
  std::string problem;  ///< why it cannot be used; empty when nothing is known against it
  ExitCode problem_code = ExitCode::ok;
};

/// All plugins that can be seen from here: registry.json's, then every .so in the search folders. Reading it runs no
/// code of any plugin.
class Catalog {
 public:
  /// Throws UserError (exit 3) when registry.json is wrong, naming file and JSON path.
  [[nodiscard]] static Catalog read(const SearchRequest& request);

  [[nodiscard]] const std::vector<PluginEntry>& entries() const { return entries_; }
  [[nodiscard]] const std::filesystem::path& registry_file() const { return registry_file_; }  ///< empty: there is none
  [[nodiscard]] const std::vector<std::filesystem::path>& folders() const { return folders_; }

  enum class Kind { detector, hook };
  /// The entry of that name and kind. Throws UserError: exit 5 with every path tried and the nearest name, also among
  /// `also_known`, when there is none; exit 3 naming both files, and where they are listed, when there are two; the
  /// entry's own problem when it has one.
  [[nodiscard]] const PluginEntry& find(const std::string& name, Kind kind,
                                        const std::vector<std::string>& also_known = {}) const;
  [[nodiscard]] bool has(const std::string& name, Kind kind) const;

 private:
  void add_registry(const std::filesystem::path& file);
  void add_registry_list(const Json& list, const char* key, Kind kind);
  void add_folder(const std::filesystem::path& folder);

  std::filesystem::path registry_file_;
  std::vector<std::filesystem::path> registry_tried_;
  std::vector<std::filesystem::path> folders_;
  std::vector<std::string> folder_notes_;  ///< per folder: "" or why it could not be listed
  std::vector<PluginEntry> entries_;
};

/// The folder the running program is in.
[[nodiscard]] std::filesystem::path program_folder();

}  // namespace bdc::host
