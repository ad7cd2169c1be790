#include "image_method.h"

#include <cmath>
#include <mutex>
#include <stdexcept>
#include <string>

#include "bdc/base/error.h"
#include "bdc/base/parallel.h"

namespace bdc {

void check_input(const AggregationInput& input) {
  if (input.crowd == nullptr) throw std::invalid_argument("aggregate: no crowd data");
  const CrowdData& crowd = *input.crowd;
  if (crowd.annotation_begin.size() != crowd.images.size() + 1) {
    throw std::invalid_argument("aggregate: the crowd data is not finalized");
  }
  for (std::size_t a = 0; a < crowd.annotations.size(); ++a) {
    if (!crowd.annotations[a].box.valid()) {
      throw DataError("annotation " + std::to_string(a) + " of image \"" +
                      crowd.images[static_cast<std::size_t>(crowd.annotations[a].image)].id.text +
                      "\": expected a box with x1 < x2 and y1 < y2; remove or repair it first");
    }
  }
  if (input.predictions == nullptr) return;
  const Predictions& p = *input.predictions;
  const std::size_t J = crowd.classes.size(), N = p.box.size();
  if (p.begin.size() != crowd.images.size() + 1) {
    throw DataError("predictions are for " + std::to_string(p.begin.empty() ? 0 : p.begin.size() - 1) +
                    " images, the crowd data has " + std::to_string(crowd.images.size()));
  }
  if (static_cast<std::size_t>(p.num_classes) != J || p.class_probs.size() != N * J || p.score.size() != N ||
      p.begin.back() != N) {
    throw DataError("predictions have " + std::to_string(p.num_classes) + " classes and " +
                    std::to_string(p.class_probs.size()) + " probabilities for " + std::to_string(N) +
                    " boxes; the crowd data has " + std::to_string(J) + " classes");
  }
  for (std::size_t n = 0; n < N; ++n) {
    if (!p.box[n].valid()) {
      throw DataError("prediction " + std::to_string(n) + ": expected a box with x1 < x2 and y1 < y2");
    }
  }
  for (std::size_t n = 0; n < p.class_probs.size(); ++n) {
    if (!std::isfinite(p.class_probs[n]) || p.class_probs[n] < 0) {
      throw DataError("prediction " + std::to_string(n / J) + ": expected class probabilities, found " +
                      std::to_string(p.class_probs[n]));
    }
  }
}

AggregationResult aggregate_images(const AggregationInput& input,
                                   const std::function<void(std::size_t, ImageTargets&)>& body) {
  check_input(input);
  const CrowdData& crowd = *input.crowd;
  const std::size_t images = crowd.images.size(), J = crowd.classes.size(), chunk_size = 64;
  struct Chunk {
    ImageTargets targets;
    std::vector<std::size_t> end;  ///< per image
  };
  std::vector<Chunk> chunks(images / chunk_size + 1);
  std::mutex mutex;
  std::size_t done = 0;
  parallel_chunks(images, chunk_size, input.threads, [&](std::size_t begin, std::size_t end, std::size_t index) {
    Chunk& chunk = chunks[index];
    for (std::size_t i = begin; i < end; ++i) {
      body(i, chunk.targets);
      chunk.end.push_back(chunk.targets.box.size());
    }
    if (!input.progress) return;
    const std::lock_guard<std::mutex> lock(mutex);
    done += end - begin;
    Progress progress;
    progress.images_done = done;
    progress.images = images;
    input.progress(progress);
  });

  AggregationResult result;
  Targets& targets = result.targets;
  targets.num_classes = static_cast<int>(J);
  targets.begin.assign(1, 0);
  targets.begin.reserve(images + 1);
  std::size_t total = 0;
  for (const Chunk& chunk : chunks) total += chunk.targets.box.size();
  targets.box.reserve(total);
  targets.weight.reserve(total);
  targets.score.reserve(total);
  targets.hard_label.reserve(total);
  for (Chunk& chunk : chunks) {
    const std::size_t first = targets.box.size();
    for (const std::size_t end : chunk.end) targets.begin.push_back(first + end);
    const ImageTargets& t = chunk.targets;
    targets.box.insert(targets.box.end(), t.box.begin(), t.box.end());
    targets.weight.insert(targets.weight.end(), t.weight.begin(), t.weight.end());
    targets.score.insert(targets.score.end(), t.score.begin(), t.score.end());
    targets.hard_label.insert(targets.hard_label.end(), t.label.begin(), t.label.end());
    chunk = {};
  }
  if (input.predictions != nullptr) result.warnings.push_back("this method does not use predictions");
  if (input.prior != nullptr) result.warnings.push_back("this method does not use what is known of the annotators");
  return result;
}

}  // namespace bdc
