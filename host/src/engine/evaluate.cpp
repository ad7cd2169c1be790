#include "engine/evaluate.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "bdc/base/state_bytes.h"
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

/// Calls `work` with the activations of every batch, in order; of several ranks, each takes every so many-th of the
/// same batches, so that it sees in them what one process would see.
void for_each_batch(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                    const std::function<void(const plugin::Activations&, const Batch&)>& work,
                    const Communicator& ranks = Communicator::alone()) {
  torch::NoGradGuard no_grad;
  const EvaluationMode mode(detector.module());
  std::vector<std::int64_t> all(static_cast<std::size_t>(data.size()));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  LoaderSettings loading;
  loading.input_size = input_size;
  loading.batch.with_targets = loading.batch.with_crowd = false;
  loading.workers = 1;
  const auto batches = in_batches(all, batch_size);
  std::vector<std::vector<std::int64_t>> own;
  for (auto b = static_cast<std::size_t>(ranks.rank()); b < batches.size();
       b += static_cast<std::size_t>(ranks.size())) {
    own.push_back(batches[b]);
  }
  BatchLoader loader(data, std::move(own), loading);
  while (const auto batch = loader.next()) work(*detector.forward(batch->images), *batch);
}

using Sink = std::function<void(std::size_t, const DetectedBoxes&)>;

void predict_own(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                 const plugin::DecodeOptions& limits, const Sink& sink, const Communicator& ranks) {
  const auto work = [&](const plugin::Activations& activations, const Batch& b) {
    const Predictions seen = unmap_predictions(detector.decode(activations, limits, b.size()), b.images);
    for (std::size_t i = 0; i < b.images.meta.size(); ++i) {
      sink(static_cast<std::size_t>(b.images.meta[i].index), of_image(seen, i));
    }
  };
  for_each_batch(detector, data, input_size, batch_size, work, ranks);
}

template <class T>
std::vector<T> copy_of(Span<const T> values) {
  return {values.begin(), values.end()};
}

/// What a detector sees in one image, as bytes and back.
struct SeenBoxes {
  std::vector<Box> box;
  std::vector<double> score, class_probs;
  template <class Archive>
  static void read(Archive& state, SeenBoxes& self) {
    state.resized(self.box), state.resized(self.score), state.resized(self.class_probs);
  }
};

/// A detection with the image it is in.
struct JudgedBox {
  std::uint64_t image = 0;
  Box box;
  double score = 0;
  std::int64_t label = 0;
};

}  // namespace

void predict_all(DetectorHandle& detector, const Dataset& data, std::int64_t input_size, std::int64_t batch_size,
                 const plugin::DecodeOptions& limits, const Sink& sink, Communicator& ranks) {
  if (ranks.is_alone()) return predict_own(detector, data, input_size, batch_size, limits, sink, ranks);
  StateWriter own;
  const auto keep = [&](std::size_t image, const DetectedBoxes& seen) {
    own(static_cast<std::uint64_t>(image));
    own(copy_of(seen.box)), own(copy_of(seen.score)), own(copy_of(seen.class_probs));
  };
  predict_own(detector, data, input_size, batch_size, limits, keep, ranks);
  std::map<std::uint64_t, SeenBoxes> all;
  for (const std::string& bytes : ranks.gather(own.take())) {
    StateReader state(bytes);
    while (!state.is_at_end()) {
      std::uint64_t image = 0;
      state(image);
      SeenBoxes::read(state, all[image]);
    }
  }
  for (const auto& [image, seen] : all) sink(static_cast<std::size_t>(image), {seen.box, seen.score, seen.class_probs});
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
                        const plugin::DecodeOptions& limits, const std::function<void(std::int64_t)>& progress,
                        Communicator& ranks) {
  const CrowdData& labels = data.labels();
  std::vector<JudgedBox> found;
  std::vector<std::uint64_t> judged_images;  // those that can be read and that the truth covers
  std::int64_t done = 0;
  const auto work = [&](const plugin::Activations& activations, const Batch& b) {
    const auto detections = unmap_detections(detector.decode_detections(activations, limits, b.size()), b.images);
    for (std::size_t i = 0; i < b.images.meta.size(); ++i) {
      const auto image = static_cast<std::size_t>(b.images.meta[i].index);
      done += ranks.size();
      if (progress) progress(std::min(done, data.size()));
      if (!labels.truth_covers.empty() && labels.truth_covers[image] == 0) continue;
      judged_images.push_back(image);
      for (const Detection& one : detections[i]) {
        const Box box = clip_to_image(one.box, labels.images[image]);
        if (box.valid()) found.push_back({image, box, one.score, one.label});
      }
    }
  };
  for_each_batch(detector, data, input_size, batch_size, work, ranks);
  if (!ranks.is_alone()) {
    StateWriter own;
    own(found), own(judged_images);
    const auto everything = ranks.gather(own.take());
    found.clear();
    judged_images.clear();
    for (const std::string& bytes : everything) {
      StateReader state(bytes);
      std::vector<JudgedBox> boxes;
      std::vector<std::uint64_t> images;
      state.resized(boxes), state.resized(images);
      found.insert(found.end(), boxes.begin(), boxes.end());
      judged_images.insert(judged_images.end(), images.begin(), images.end());
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const JudgedBox& a, const JudgedBox& b) { return a.image < b.image; });
  }
  CocoEvalResult out;
  if (ranks.is_first()) {
    const auto rank = rank_by_id(labels.images);
    std::vector<char> judged(labels.images.size(), 0);
    for (const std::uint64_t image : judged_images) judged[image] = 1;
    std::vector<CocoDetection> detections;
    detections.reserve(found.size());
    for (const JudgedBox& one : found) {
      detections.push_back({{one.box.x1, one.box.y1, one.box.width(), one.box.height()},
                            one.score,
                            rank[one.image],
                            static_cast<decltype(CocoDetection::label)>(one.label)});
    }
    CocoEvalOptions options;
    options.curve_ious = {0.5};
    out = coco_evaluate(detections, coco_truth(labels, judged), labels.images.size(), labels.classes.size(), options);
  }
  ranks.broadcast(out.stats.data(), sizeof(out.stats), 0);
  return out;
}

}  // namespace bdc::host
