#include "engine/require_finite.h"

#include <torch/nn.h>

#include <cmath>
#include <cstdio>

#include "bdc/base/atomic_file.h"
#include "bdc/base/user_error.h"

namespace bdc::host {

void require_finite(double value, const plugin::Images& images, const CrowdData& labels, const RunPosition& at,
                    double learning_rate, const std::filesystem::path& folder) {
  if (std::isfinite(value)) return;
  Json report = {
      {"epoch", at.epoch + 1}, {"step", at.position}, {"global_step", at.step + 1}, {"images", Json::array()}};
  for (const auto& meta : images.meta) {
    const ImageRecord& image = labels.images[static_cast<std::size_t>(meta.index)];
    Json entry = Json::object();
    entry["id"] = image.id.text;
    entry["file"] = image.file;
    report["images"].push_back(std::move(entry));
  }
  const auto file = folder / "non_finite.json";
  write_file_atomically(file, report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  char lower[32];
  std::snprintf(lower, sizeof(lower), "%.3g", learning_rate / 10);
  throw UserError(ExitCode::non_finite,
                  "the loss or its gradient is not finite in epoch " + std::to_string(at.epoch + 1) + ", step " +
                      std::to_string(at.position) + "; the batch's images are in " + file.string() +
                      "\n  advice: look at those images, or start a new run with a lower learning rate (or a smaller "
                      "train.clip_norm):\n    bdc-host train --config " +
                      (folder / "config.json").string() + " --set output.name= --set train.learning_rate=" + lower +
                      "\n  --resume would fail at the same step: a run keeps its settings");
}

}  // namespace bdc::host
