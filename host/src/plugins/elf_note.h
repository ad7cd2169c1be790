#pragma once

#include <filesystem>
#include <string>

#include "plugins/fingerprint.h"

namespace bdc::host {

/// What a plugin file says about itself without being loaded.
struct PluginNote {
  std::string name;
  bool has_detector = false, has_hook = false;
  Fingerprint fingerprint;
};

/// Reads the ELF note of a plugin file. Runs no code of the file and trusts nothing in it. Throws UserError: exit 5
/// when the path does not lead to a shared library with a bdc note (missing, a folder, a symlink loop, not ELF,
/// truncated), exit 6 when it is one of another machine. The message starts with the path.
[[nodiscard]] PluginNote read_plugin_note(const std::filesystem::path& path);

/// Lower case letters, digits, '_' and '-', starting with a letter or digit, at most 64.
[[nodiscard]] bool is_plugin_name(const std::string& name);

}  // namespace bdc::host
