#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "bdc/base/ranks.h"

namespace bdc::absence_aware {

/// Which images of a crowd this rank works on, and how sums over all of them have the same bits for any number of
/// ranks: they are added up per chunk and per block of images, whose borders depend on the crowd alone, and these
/// partial sums are added in their order. A rank has whole blocks.
class ImageShare {
 public:
  static constexpr std::size_t kImagesPerChunk = 16;

  /// The more sources, the fewer blocks, for the sake of memory. ranks is borrowed.
  ImageShare(std::size_t images, std::size_t sources, Ranks& ranks);

  [[nodiscard]] Ranks& ranks() const { return ranks_; }
  [[nodiscard]] std::size_t first() const { return first_; }           ///< of this rank's images
  [[nodiscard]] std::size_t images() const { return last_ - first_; }  ///< of this rank
  [[nodiscard]] std::size_t images_per_block() const { return per_block_; }
  [[nodiscard]] std::size_t blocks() const { return blocks_.last - blocks_.first; }  ///< of this rank

  /// The partial sums of all ranks' chunks, or of their blocks, in order: own holds `each` numbers for each of this
  /// rank's.
  [[nodiscard]] std::vector<double> join_chunks(std::vector<double> own, std::size_t each) const;
  [[nodiscard]] std::vector<double> join_blocks(std::vector<double> own, std::size_t each) const;

 private:
  [[nodiscard]] std::vector<double> join(std::vector<double> own, std::size_t first, std::size_t total) const;

  Ranks& ranks_;
  std::size_t all_images_, per_block_, all_blocks_;
  RankPart blocks_;
  std::size_t first_, last_;
};

}  // namespace bdc::absence_aware
