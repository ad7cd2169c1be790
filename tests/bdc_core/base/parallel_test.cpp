#include "bdc/base/parallel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
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

/// Of address space, in bytes.
std::size_t memory_in_use() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
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

TEST(ParallelChunks, FewerThreadsDoTheWorkWhenTheSystemGivesNoMore) {
  const double expected = sum_of_inverses(1);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // without room for the stack of another thread
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = memory_in_use() + (std::size_t{6} << 20);
    setrlimit(RLIMIT_AS, &limit);
    _exit(sum_of_inverses(64) == expected ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ParallelChunks, NothingToDoCallsNothing) {
  bdc::parallel_chunks(0, 10, 2, [](std::size_t, std::size_t, std::size_t) { FAIL(); });
}

}  // namespace
