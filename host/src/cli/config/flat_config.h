#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace bdc::host {

/// Values by their dotted path ("SOLVER.BASE_LR", "param_scheduler.0.type"), in the file's order; all are text, so that
/// YAML and JSON read alike.
struct FlatConfig {
  std::vector<std::string> order;
  std::map<std::string, std::string> value;

  [[nodiscard]] bool has(const std::string& key) const { return value.count(key) > 0; }
  [[nodiscard]] bool has_below(const std::string& prefix) const {
    const auto at = value.lower_bound(prefix + ".");
    return at != value.end() && at->first.compare(0, prefix.size() + 1, prefix + ".") == 0;
  }
};

/// The values of a YAML file, or of a JSON file by its extension (.json). A program (.py) is refused, and so is a file
/// of more than 16 MiB, 100,000 values or 40 levels (aliases count as often as they are named). Throws UserError (exit
/// 3).
[[nodiscard]] FlatConfig read_flat_config(const std::filesystem::path& path);
/// The same for YAML in memory; `file` stands for it in messages.
[[nodiscard]] FlatConfig parse_flat_yaml(const std::string& text, const std::string& file);

}  // namespace bdc::host
