#include "engine/evaluate.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <numeric>

#include "bdc/crowd/clip_to_image.h"
#include "bdc/metrics/aggregation_ap.h"
#include "data/in_batches.h"
#include "data/loader.h"

namespace bdc::host {
namespace {

/// Puts a module back into the mode it was in.
class EvaluationMode {
 public:
  explicit EvaluationMode(torch::nn::Module& module) : module_(module), training_(module.is_training()) {
    module.eval();
  }
  ~EvaluationMode() { module_.train(training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  torch::nn::Module& module_;
  bool training_;
};

/// Calls `work` with the activations of every batch, in order.
void for_each_batch(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                    const std::function<void(const plugin::Activations&, const Batch&)>& work) {
  torch::NoGradGuard no_grad;
  const EvaluationMode mode(detector.module());
  std::vector<std::int64_t> all(static_cast<std::size_t>(data.size()));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  LoaderSettings loading;
  loading.input_size = input_size;
  loading.batch.with_targets = loading.batch.with_crowd = false;
  loading.workers = 1;
  BatchLoader loader(data, in_batches(all, batch_size), loading);
  while (const auto batch = loader.next()) work(*detector.forward(batch->images), *batch);
}

}  // namespace

void predict_all(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                 const plugin::DecodeOptions& limits,
                 const std::function<void(std::size_t, const DetectedBoxes&)>& sink) {
  for_each_batch(detector, data, input_size, batch_size, [&](const plugin::Activations& activations, const Batch& b) {
    const Predictions seen = unmap_predictions(detector.decode(activations, limits, b.size()), b.images);
    for (std::size_t i = 0; i < b.images.meta.size(); ++i) {
      sink(static_cast<std::size_t>(b.images.meta[i].index), of_image(seen, i));
    }
  });
}

void detect_all(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                const plugin::DecodeOptions& limits,
                const std::function<void(std::size_t, const std::vector<Detection>&)>& sink) {
  for_each_batch(detector, data, input_size, batch_size, [&](const plugin::Activations& activations, const Batch& b) {
    const auto found = unmap_detections(detector.decode_detections(activations, limits, b.size()), b.images);
    for (std::size_t i = 0; i < b.images.meta.size(); ++i) {
      sink(static_cast<std::size_t>(b.images.meta[i].index), found[i]);
    }
  });
}

CocoEvalResult evaluate(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                        const plugin::DecodeOptions& limits, const std::function<void(std::int64_t)>& progress) {
  const CrowdData& labels = data.labels();
  const auto rank = rank_by_id(labels.images);
  std::vector<CocoDetection> detections;
  std::vector<char> judged(labels.images.size(), 0);  // those that can be read and that the truth covers
  std::int64_t done = 0;
  const auto judge = [&](std::size_t image, const std::vector<Detection>& found) {
    if (progress) progress(++done);
    if (!labels.truth_covers.empty() && labels.truth_covers[image] == 0) return;
    judged[image] = 1;
    for (const Detection& one : found) {
      const Box box = clip_to_image(one.box, labels.images[image]);
      if (!box.valid()) continue;
      detections.push_back({{box.x1, box.y1, box.width(), box.height()}, one.score, rank[image], one.label});
    }
  };
  detect_all(detector, data, input_size, batch_size, limits, judge);
  CocoEvalOptions options;
  options.curve_ious = {0.5};
  return coco_evaluate(detections, coco_truth(labels, judged), labels.images.size(), labels.classes.size(), options);
}

}  // namespace bdc::host
