#include "studio/experiment/network_crowd.h"

#include "bdc/base/atomic_file.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/coco.h"
#include "studio/experiment/cell_data.h"
#include "studio/experiment/child_step.h"
#include "studio/experiment/file_content.h"
#include "synth/crowd_spec.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

/// The crowd's spec as a file for `synth`: small networks for the built-in shapes.
Json spec_of(const Cell& cell) {
  Json out = crowd_spec_json(cell);
  if (!out.contains("networks")) out["networks"] = Json::object();
  if (cell.settings["data"].contains("shapes") && !out["networks"].contains("size")) out["networks"]["size"] = "small";
  return out;
}

}  // namespace

std::optional<Cell> with_network_crowd(const Cell& cell, const CellSettings& settings, const std::atomic<bool>& stop) {
  if (cell.settings["crowd"].contains("as_drawn")) return cell;
  const Json spec = spec_of(cell), data = cell.settings["data"];
  if (parse_crowd_spec(spec, "crowd " + cell.crowd).network_skills().empty()) return cell;
  const fs::path files = settings.folder / "files";
  const std::string name = "network_crowd_" + digest(Json{data, spec, cell.seed}.dump()).substr(0, 12);
  const fs::path crowd = files / (name + ".json");
  if (!fs::exists(crowd)) {
    if (!data.contains("shapes") && !data.contains("images")) {
      throw UserError(
          ExitCode::config,
          "data " + cell.data + ": annotators with networks need its images; give their folder as \"images\"");
    }
    fs::create_directories(files);
    const fs::path images = data.contains("shapes")
                                ? shapes_folder(cell, files, settings.threads, settings.engine) / "train"
                                : fs::path(data["images"].get<std::string>()),
                   truth = files / (name + ".truth.json"), mix = files / (name + ".spec.json"),
                   networks =
                       files / ("networks_" + digest(Json{data, spec["networks"], cell.seed}.dump()).substr(0, 12));
    write_truth(cell_truth(cell, settings.engine), truth.string());
    write_file_atomically(mix, spec.dump(1) + "\n");
    std::vector<std::string> words = {"synth",      truth.string(),
                                      "--images",   images.string(),
                                      "--config",   mix.string(),
                                      "--seed",     std::to_string(cell.seed),
                                      "--networks", networks.string(),
                                      "-o",         crowd.string(),
                                      "--threads",  std::to_string(settings.threads)};
    if (data.contains("shapes")) words.push_back("--with-truth");  // there is no file to take it from
    run_step(words, settings, name, stop);
    if (stop) return std::nullopt;
  }
  Cell out = cell;
  out.settings["data"]["crowd"] = crowd.string();
  out.settings["crowd"] = {{"name", cell.crowd}, {"as_drawn", true}};
  return out;
}

}  // namespace bdc::host
