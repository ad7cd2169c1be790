#pragma once

#include <cstring>

#include "ranks/communicator.h"
#include "support/thread_ranks.h"

namespace bdc::host {

class ThreadRank : public test::ThreadRankOf<Communicator> {
 public:
  using ThreadRankOf::ThreadRankOf;
  void all_reduce(Span<float> bucket) override { sum(bucket); }
  void broadcast(void* bytes, std::size_t count, int root) override {
    const auto all = gather({static_cast<const char*>(bytes), count});
    std::memcpy(bytes, all[static_cast<std::size_t>(root)].data(), count);
  }
  void barrier() override { meeting_.meet(); }
};

/// Communicators as threads of one process.
using ThreadRanks = test::ThreadRanksOf<ThreadRank>;

}  // namespace bdc::host
