#include "studio/experiment/check_grid.h"

#include <set>

#include "studio/experiment/child_step.h"
#include "studio/experiment/run_cell.h"
#include "studio/experiment/train_arguments.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

void require_file(const Json& entry, const std::string& key, const std::string& where) {
  if (!entry.contains(key)) return;
  const auto path = entry[key].get<std::string>();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw UserError(ExitCode::data, member_place(where, key) + ": " + path + ": no such file or folder");
  }
}

void check_files(const Cell& cell, const std::string& source) {
  const Json &data = cell.settings["data"], &crowd = cell.settings["crowd"];
  const std::string where = member_place(source, "data.") + cell.data;
  for (const char* key : {"crowd", "truth", "images", "val_labels", "val_images"}) require_file(data, key, where);
  for (const Json& detector : crowd.value("detectors", Json::array())) {
    require_file(detector, "file", member_place(source, "crowds.") + cell.crowd + ".detectors");
  }
  if (cell.detector.empty() || data.contains("shapes")) return;
  for (const char* needed : {"images", "val_labels"}) {
    if (!data.contains(needed)) {
      throw UserError(ExitCode::config, where + ": training a detector needs \"" + needed + "\"");
    }
  }
}

void check_method(const Cell& cell, const std::string& source) {
  try {
    (void)labels_method(cell);
  } catch (const UserError& e) {
    throw UserError(e.code(), source + ": " + e.what());
  }
}

}  // namespace

void check_grid(const Grid& grid, const CellSettings& settings, const std::atomic<bool>& stop) {
  std::set<std::string> detectors, methods;
  for (const Cell& cell : grid.cells) check_files(cell, grid.source);
  for (const Cell& cell : grid.cells) {
    const bool is_new = detectors.insert(cell.detector).second, has_new_method = methods.insert(cell.method).second;
    if (stop || !(is_new || has_new_method)) continue;
    if (cell.detector.empty()) {
      check_method(cell, grid.source);
      continue;
    }
    std::vector<std::string> words = detector_arguments(cell, settings);
    words.insert(words.begin(), "config");
    try {
      run_step(words, settings, "check_" + cell.id, stop);
    } catch (const UserError& e) {
      throw UserError(e.code(), member_place(grid.source, "detectors.") + cell.detector + " with method " +
                                    cell.method + " cannot be trained\n  " + e.what());
    }
  }
}

}  // namespace bdc::host
