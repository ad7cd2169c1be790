#include "learn/bdc/absence_aware/image_share.h"

#include <algorithm>

namespace bdc::absence_aware {
namespace {

/// Sources of all blocks together, whose sums are held at once.
constexpr std::size_t kMostBlockSources = 16'000, kMostBlocks = 64;

std::size_t divided_up(std::size_t n, std::size_t by) {
  return (n + by - 1) / by;
}

}  // namespace

ImageShare::ImageShare(std::size_t images, std::size_t sources, Ranks& ranks) : ranks_(ranks), all_images_(images) {
  const std::size_t blocks = std::max<std::size_t>(2, std::min(kMostBlocks, kMostBlockSources / (sources + 1)));
  per_block_ = std::max<std::size_t>(1, divided_up(divided_up(images, blocks), kImagesPerChunk)) * kImagesPerChunk;
  all_blocks_ = divided_up(images, per_block_);
  blocks_ = part_of_rank(all_blocks_, ranks);
  first_ = std::min(images, blocks_.first * per_block_);
  last_ = std::min(images, blocks_.last * per_block_);
}

std::vector<double> ImageShare::join(std::vector<double> own, std::size_t first, std::size_t total) const {
  if (ranks_.is_alone()) return own;
  std::vector<double> all(total, 0.0);  // the others have 0 here, which takes no bit away
  std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
  own = {};
  ranks_.all_reduce_doubles(all);
  return all;
}

std::vector<double> ImageShare::join_chunks(std::vector<double> own, std::size_t each) const {
  return join(std::move(own), first_ / kImagesPerChunk * each, divided_up(all_images_, kImagesPerChunk) * each);
}

std::vector<double> ImageShare::join_blocks(std::vector<double> own, std::size_t each) const {
  return join(std::move(own), blocks_.first * each, all_blocks_ * each);
}

}  // namespace bdc::absence_aware
