#include "bdc/base/parallel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

namespace {

double sum_of_inverses(int threads) {
  const std::size_t n = 100003;
  std::vector<double> partial((n + 999) / 1000, 0.0);
  bdc::parallel_chunks(n, 1000, threads, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    for (std::size_t i = begin; i < end; ++i) partial[chunk] += 1.0 / static_cast<double>(i + 1);
  });
  return std::accumulate(partial.begin(), partial.end(), 0.0);
}

TEST(ParallelChunks, SameBitsForAnyNumberOfThreads) {
  const double one = sum_of_inverses(1);
  EXPECT_EQ(one, sum_of_inverses(2));
  EXPECT_EQ(one, sum_of_inverses(7));
}

TEST(ParallelChunks, RethrowsWhatAChunkThrows) {
  EXPECT_THROW(bdc::parallel_chunks(100, 1, 3,
                                    [](std::size_t begin, std::size_t, std::size_t) {
                                      if (begin == 41) throw std::runtime_error("chunk 41");
                                    }),
               std::runtime_error);
}

TEST(ParallelChunks, NothingToDoCallsNothing) {
  bdc::parallel_chunks(0, 10, 2, [](std::size_t, std::size_t, std::size_t) { FAIL(); });
}

}  // namespace
