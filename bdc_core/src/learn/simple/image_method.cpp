#include "image_method.h"

#include <algorithm>
#include <mutex>

#include "bdc/base/parallel.h"

namespace bdc {

FitResult aggregate_images(const FitInput& input, const std::function<void(std::size_t, ImageTargets&)>& body) {
  check_input(input);
  const CrowdData& crowd = *input.crowd;
  const std::size_t images = crowd.images.size(), J = crowd.classes.size(), chunk_size = 64;
  struct Chunk {
    ImageTargets targets;
    std::vector<std::size_t> end;  ///< per image
  };
  const RankPart part = part_of_rank((images + chunk_size - 1) / chunk_size, *input.ranks);
  const std::size_t first_image = std::min(images, part.first * chunk_size),
                    own_images = std::min(images, part.last * chunk_size) - first_image;
  std::vector<Chunk> chunks(part.last - part.first);
  std::mutex mutex;
  std::size_t done = 0;
  parallel_chunks(own_images, chunk_size, input.threads, [&](std::size_t begin, std::size_t end, std::size_t index) {
    Chunk& chunk = chunks[index];
    for (std::size_t i = begin; i < end; ++i) {
      body(first_image + i, chunk.targets);
      chunk.end.push_back(chunk.targets.box.size());
    }
    if (!input.progress) return;
    const std::lock_guard<std::mutex> lock(mutex);
    done += end - begin;
    Progress progress;
    progress.images_done = done;
    progress.images = own_images;
    input.progress(progress);
  });

  FitResult result;
  Targets& targets = result.targets;
  targets.num_classes = static_cast<int>(J);
  targets.begin.assign(1, 0);
  targets.begin.reserve(own_images + 1);
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
  join_targets(*input.ranks, input.whole, targets);
  if (input.predictions != nullptr) result.warnings.push_back("this method does not use predictions");
  if (input.prior != nullptr) result.warnings.push_back("this method does not use what is known about the annotators");
  return result;
}

}  // namespace bdc
