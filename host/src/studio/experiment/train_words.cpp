#include "studio/experiment/train_words.h"

namespace bdc::host {
namespace {

using Words = std::vector<std::string>;

void add(Words& words, const std::string& option, const std::string& value) {
  words.insert(words.end(), {option, value});
}

void set(Words& words, const std::string& key, const std::string& value) {
  add(words, "--set", key + "=" + value);
}

/// NAME:key=value,... as `train --hook` takes it.
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

Words detector_words(const Cell& cell, const CellSettings& settings) {
  const Json& detector = cell.settings["detector"];
  Words words = settings.program_options;
  if (detector.contains("config")) add(words, "--config", detector["config"].get<std::string>());
  if (detector.contains("plugin")) add(words, "--plugin", detector["plugin"].get<std::string>());
  add(words, "--hook", hook_text(cell.settings["method"]));
  set(words, "data.strict", "true");  // figures of fewer images than the others' would mislead
  for (const Json& sets : {cell.settings.value("set", Json::object()), detector.value("set", Json::object())}) {
    for (const auto& [key, value] : sets.items()) set(words, key, value_text(value));
  }
  return words;
}

Words train_words(const Cell& cell, const CellSettings& settings, const CellFiles& files) {
  Words words = detector_words(cell, settings);
  words.insert(words.begin(), "train");
  set(words, "train.seed", std::to_string(cell.seed));
  set(words, "data.labels", files.crowd);
  if (!files.truth.empty()) set(words, "data.truth", files.truth);
  set(words, "data.images", files.images);
  set(words, "data.val_labels", files.val_labels);
  set(words, "data.val_images", files.val_images);
  set(words, "output.folder", (settings.folder / "runs").string());
  set(words, "output.name", cell.id);
  return words;
}

}  // namespace bdc::host
