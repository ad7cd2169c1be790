#include "engine/observers/picture_writer.h"

#include <torch/nn.h>

#include <algorithm>
#include <utility>

#include "bdc/base/user_error.h"
#include "engine/run_pictures.h"

namespace bdc::host {
namespace {

constexpr std::int64_t kBatchPictures = 5;  ///< about so many in a run

}  // namespace

PictureWriter::PictureWriter(std::filesystem::path folder, std::vector<std::string> class_names,
                             const MetricsRecord& record, Progress& progress)
    : folder_(std::move(folder)), class_names_(std::move(class_names)), record_(record), progress_(progress) {}

void PictureWriter::before_fit(LoopState& state) {
  std::error_code ignored;  // the first picture will tell
  if (state.is_writer()) std::filesystem::create_directories(folder_ / "pictures", ignored);
}

void PictureWriter::before_loss(LoopState& state, const Batch& batch) {
  const std::int64_t every = std::max<std::int64_t>(1, state.run.epochs / kBatchPictures);
  if (!state.is_writer() || state.at.position != 0 || state.at.epoch % every != 0) return;
  state.stage = "drawing a picture";
  state.clock.begin("pictures");
  attempt([&] {
    write_batch_picture(folder_ / "pictures" / ("batch_epoch_" + std::to_string(state.at.epoch + 1) + ".png"), batch,
                        class_names_);
  });
}

void PictureWriter::after_epoch(LoopState& state) {
  if (!state.is_writer()) return;
  attempt([&] { write_learning_curve(folder_ / "learning_curve.png", record_.records()); });
  if (!state.evaluation) return;
  attempt([&] { write_precision_recall(folder_ / "precision_recall.png", *state.evaluation, class_names_); });
}

void PictureWriter::attempt(const std::function<void()>& draw) {
  try {
    draw();
  } catch (const UserError& e) {
    if (has_warned_) return;
    has_warned_ = true;
    progress_.line("warning: " + std::string(e.what()) +
                   "\n  training continues; this is said once, for the first picture that cannot be written");
  }
}

}  // namespace bdc::host
