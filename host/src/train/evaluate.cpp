#include "train/evaluate.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include "bdc/core/metrics/aggregation_ap.h"
#include "data/batch.h"

namespace bdc::host {
namespace {

/// A batch's predictions, back in the original frames.
void collect(const plugin::Predictions& predictions, const plugin::Images& images,
             const std::vector<std::int32_t>& rank, std::vector<CocoDetection>& into) {
  const auto labels = predictions.class_probs.argmax(1).to(torch::kCPU);
  const auto best = std::get<0>(predictions.class_probs.max(1));
  const auto scores = (predictions.scores * best).to(torch::kCPU, torch::kFloat64);
  const auto index = predictions.image_index.to(torch::kCPU);
  for (std::size_t b = 0; b < images.meta.size(); ++b) {
    const auto rows = (index == static_cast<std::int64_t>(b)).nonzero().squeeze(1);
    const auto boxes = images.meta[b].to_input.inverse().apply_to_boxes(
        predictions.boxes.to(torch::kCPU, torch::kFloat64).index_select(0, rows));
    for (std::int64_t n = 0; n < rows.size(0); ++n) {
      const auto row = rows[n].item<std::int64_t>();
      const auto at = [&](int c) { return boxes[n][c].item<double>(); };
      into.push_back({{at(0), at(1), at(2) - at(0), at(3) - at(1)},
                      scores[row].item<double>(),
                      rank[static_cast<std::size_t>(images.meta[b].index)],
                      static_cast<std::int32_t>(labels[row].item<std::int64_t>())});
    }
  }
}

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

}  // namespace

CocoEvalResult evaluate(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                        const plugin::DecodeOptions& limits, const std::function<void(std::int64_t)>& progress) {
  torch::NoGradGuard no_grad;
  const EvaluationMode mode(detector.module());
  const auto rank = rank_by_id(data.labels().images);
  std::vector<CocoDetection> detections;
  for (std::int64_t from = 0; from < data.size(); from += batch_size) {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = from; i < std::min(from + batch_size, data.size()); ++i) indices.push_back(i);
    const Batch batch = make_batch(data, indices, input_size);
    const auto activations = detector.forward(batch.images);
    collect(detector.decode(*activations, limits, static_cast<std::int64_t>(indices.size())), batch.images, rank,
            detections);
    if (progress) progress(from + static_cast<std::int64_t>(indices.size()));
  }
  return coco_evaluate(detections, coco_truth(data.labels()), data.labels().images.size(),
                       data.labels().classes.size());
}

}  // namespace bdc::host
