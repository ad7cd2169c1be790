#include "studio/experiment/cell_data.h"

#include "bdc/base/atomic_file.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/coco.h"
#include "bdc/crowd/crowd_io.h"
#include "studio/experiment/file_content.h"
#include "synth/simulate.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

/// Training and held-out shapes: the same settings, but seeds that no other seed leads to.
ShapesSettings shapes_settings(const Cell& cell, bool test) {
  const Json& s = cell.settings["data"]["shapes"];
  const auto number = [&](const char* key, std::int64_t otherwise) { return s.value(key, otherwise); };
  return {test ? number("test_images", 100) : number("train_images", 400), number("classes", 4), number("size", 96),
          number("max_objects", 3), static_cast<std::uint64_t>(cell.seed) * 2 + (test ? 1 : 0)};
}

fs::path shapes_place(const Cell& cell, const fs::path& folder) {
  return folder / ("shapes_" + digest(Json{cell.settings["data"]["shapes"], cell.seed}.dump()).substr(0, 12));
}

fs::path crowd_place(const Cell& cell, const fs::path& folder) {
  return folder /
         ("crowd_" + digest(Json{cell.settings["data"], cell.settings["crowd"], cell.seed}.dump()).substr(0, 12));
}

void without_truth(CrowdData& data) {
  data.truth.clear();
  data.truth_covers.clear();
  data.has_truth = false;
  data.finalize();
}

}  // namespace

Json crowd_spec_json(const Cell& cell) {
  Json out = cell.settings["crowd"];
  out.erase("name");
  out.erase("content");
  return out;
}

void forget_files(const Cell& cell, const fs::path& folder) {
  std::error_code ignored;  // what cannot be removed will be complained of again
  fs::remove_all(crowd_place(cell, folder), ignored);
  if (cell.settings["data"].contains("shapes")) fs::remove_all(shapes_place(cell, folder), ignored);
}

CrowdData cell_truth(const Cell& cell, const OpenEngine& engine) {
  const Json& data = cell.settings["data"];
  if (data.contains("shapes")) return engine().shapes_labels(shapes_settings(cell, false));
  return read_truth(data["truth"].get<std::string>());
}

CrowdData cell_crowd(const Cell& cell, int threads, const OpenEngine& engine) {
  if (cell.settings["crowd"].contains("as_drawn")) {
    const Json& data = cell.settings["data"];
    CrowdData labels = read_crowd({data["crowd"].get<std::string>()});
    if (data.contains("truth")) (void)attach_truth(labels, data["truth"].get<std::string>());
    return labels;
  }
  const CrowdSpec spec = parse_crowd_spec(crowd_spec_json(cell), "crowd " + cell.crowd);
  CrowdData labels = cell_truth(cell, engine);
  if (labels.images.empty()) throw DataError("data " + cell.data + ": expected images, found none");
  const auto seed = static_cast<std::uint64_t>(cell.seed);
  simulate_crowd(labels, make_members(spec, labels, seed), {seed, spec.cover_all, threads});
  return labels;
}

fs::path shapes_folder(const Cell& cell, const fs::path& folder, int threads, const OpenEngine& engine) {
  const fs::path shapes = shapes_place(cell, folder);
  if (!fs::exists(shapes)) {
    fs::create_directories(folder);
    AtomicFolder writing(shapes.string());
    const ShapesSettings train = shapes_settings(cell, false), test = shapes_settings(cell, true);
    engine().write_shapes(train, (fs::path(writing.path()) / "train").string(), threads);
    engine().write_shapes(test, (fs::path(writing.path()) / "test").string(), threads);
    write_truth(engine().shapes_labels(test), (fs::path(writing.path()) / "test.json").string());
    writing.commit();
  }
  return shapes;
}

CellFiles cell_files(const Cell& cell, const fs::path& folder, int threads, const OpenEngine& engine) {
  const Json& data = cell.settings["data"];
  CellFiles out;
  const fs::path made = crowd_place(cell, folder);
  if (!fs::exists(made)) {
    fs::create_directories(folder);
    AtomicFolder writing(made.string());
    CrowdData labels = cell_crowd(cell, threads, engine);
    if (labels.has_truth) write_truth(labels, (fs::path(writing.path()) / "truth.json").string());
    without_truth(labels);
    (void)write_crowd(labels, (fs::path(writing.path()) / "crowd.json").string(), "crowd");
    writing.commit();
  }
  out.crowd = (made / "crowd.json").string();
  if (fs::exists(made / "truth.json")) out.truth = (made / "truth.json").string();
  if (!data.contains("shapes")) {
    out.images = data["images"];
    out.val_labels = data["val_labels"];
    out.val_images = data.value("val_images", out.images);
    return out;
  }
  const fs::path shapes = shapes_folder(cell, folder, threads, engine);
  out.images = (shapes / "train").string();
  out.val_images = (shapes / "test").string();
  out.val_labels = (shapes / "test.json").string();
  return out;
}

}  // namespace bdc::host
