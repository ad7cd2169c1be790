#include "studio/experiment/train_arguments.h"

namespace bdc::host {
namespace {

using Arguments = std::vector<std::string>;

void add(Arguments& arguments, const std::string& option, const std::string& value) {
  arguments.insert(arguments.end(), {option, value});
}

void set(Arguments& arguments, const std::string& key, const std::string& value) {
  add(arguments, "--set", key + "=" + value);
}

/// NAME:KEY=VALUE,... as `train --hook` takes it.
std::string hook_text(const Json& method) {
  std::string out = method["method"].get<std::string>();
  bool first = true;
  for (const auto& [key, value] : method["options"].items()) {
    out += (first ? ":" : ",") + key + "=" + value_text(value);
    first = false;
  }
  return out;
}

}  // namespace

std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Arguments detector_arguments(const Cell& cell, const CellSettings& settings) {
  const Json& detector = cell.settings["detector"];
  Arguments arguments = settings.program_options;
  if (detector.contains("config")) add(arguments, "--config", detector["config"].get<std::string>());
  if (detector.contains("plugin")) add(arguments, "--plugin", detector["plugin"].get<std::string>());
  add(arguments, "--hook", hook_text(cell.settings["method"]));
  set(arguments, "data.strict", "true");  // figures of fewer images than the others' would mislead
  for (const Json& sets : {cell.settings.value("set", Json::object()), detector.value("set", Json::object())}) {
    for (const auto& [key, value] : sets.items()) set(arguments, key, value_text(value));
  }
  return arguments;
}

Arguments train_arguments(const Cell& cell, const CellSettings& settings, const CellFiles& files) {
  Arguments arguments = detector_arguments(cell, settings);
  arguments.insert(arguments.begin(), "train");
  set(arguments, "train.seed", std::to_string(cell.seed));
  set(arguments, "data.labels", files.crowd);
  if (!files.truth.empty()) set(arguments, "data.truth", files.truth);
  set(arguments, "data.images", files.images);
  set(arguments, "data.val_labels", files.val_labels);
  set(arguments, "data.val_images", files.val_images);
  set(arguments, "output.folder", (settings.folder / "runs").string());
  set(arguments, "output.name", cell.id);
  return arguments;
}

}  // namespace bdc::host
