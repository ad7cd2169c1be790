#include "studio/experiment/trained_detectors.h"

#include "studio/experiment/cell_data.h"
#include "studio/experiment/child_step.h"
#include "studio/experiment/file_content.h"
#include "studio/experiment/train_arguments.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kOwnSeed = 1000003;  // far from the seeds of experiments

/// Results of one detector on the cell's training images.
fs::path results_of(const Json& detector, std::size_t number, const Cell& cell, const CellSettings& settings,
                    const std::atomic<bool>& stop) {
  const Json& shapes = cell.settings["data"]["shapes"];
  const fs::path files = settings.folder / "files";
  const std::string name = "detector_" + digest(Json{detector, number, shapes, cell.seed}.dump()).substr(0, 12);
  const fs::path results = files / (name + ".json"), run = files / name;
  if (fs::exists(results)) return results;
  const fs::path images = shapes_folder(cell, files, settings.threads, settings.engine) / "train";
  fs::remove_all(run);  // half a detector is trained anew: it takes less than the cells
  const auto run_with_plugins = [&](std::vector<std::string> words) {
    words.insert(words.end(), settings.program_options.begin(), settings.program_options.end());
    run_step(std::move(words), settings, name, stop);
  };
  std::vector<std::string> words = {"train", "--plugin", detector.value("plugin", "minimal")};
  const auto set = [&](const std::string& key, const std::string& value) {
    words.insert(words.end(), {"--set", key + "=" + value});
  };
  for (const char* key : {"classes", "size", "max_objects", "test_images"}) {
    if (shapes.contains(key)) set(std::string("data.shapes.") + key, shapes[key].dump());
  }
  const auto seed = cell.seed + kOwnSeed * static_cast<std::int64_t>(number + 1);
  set("data.shapes.seed", std::to_string(seed));
  set("data.source", "shapes");
  set("train.seed", std::to_string(seed));
  set("output.folder", files.string());
  set("output.name", name);
  const Json sets = detector.value("set", Json::object());
  for (const auto& [key, value] : sets.items()) set(key, value_text(value));
  run_with_plugins(words);
  const fs::path found = files / (name + ".found.json");
  if (!stop) {
    run_with_plugins(
        {"predict", run.string(), images.string(), "--min-score", "0.05", "--for-consensus", "-o", found.string()});
  }
  if (!stop) fs::rename(found, results);
  return results;
}

}  // namespace

std::optional<Cell> with_trained_detectors(const Cell& cell, const CellSettings& settings,
                                           const std::atomic<bool>& stop) {
  Cell out = cell;
  Json& crowd = out.settings["crowd"];
  if (!crowd.contains("trained_detectors")) return out;
  const Json wanted = crowd["trained_detectors"];
  crowd.erase("trained_detectors");
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    const fs::path results = results_of(wanted[n], n, cell, settings, stop);
    if (stop) return std::nullopt;
    crowd["detectors"].push_back(
        {{"name", wanted[n]["name"]}, {"file", results.string()}, {"min_score", wanted[n].value("min_score", 0.5)}});
  }
  return out;
}

}  // namespace bdc::host
