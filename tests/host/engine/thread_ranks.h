#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ranks/communicator.h"

namespace bdc::host {

/// Ranks as threads of one process, without a network.
class ThreadRanks {
 public:
  explicit ThreadRanks(int size) : size_(size), bytes_(static_cast<std::size_t>(size)) {}

  /// Runs `work` in a thread per rank.
  void run(const std::function<void(Communicator&)>& work) {
    std::vector<std::thread> threads;
    for (int r = 0; r < size_; ++r) {
      threads.emplace_back([&, r] {
        Rank rank(*this, r);
        work(rank);
      });
    }
    for (auto& thread : threads) thread.join();
  }

 private:
  class Rank : public Communicator {
   public:
    Rank(ThreadRanks& all, int rank) : all_(all), rank_(rank) {}
    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return all_.size_; }
    void all_reduce(Span<float> bucket) override { sum(bucket); }
    void all_reduce_doubles(Span<double> bucket) override { sum(bucket); }
    void broadcast(void* bytes, std::size_t count, int root) override {
      const auto all = gather({static_cast<const char*>(bytes), count});
      std::memcpy(bytes, all[static_cast<std::size_t>(root)].data(), count);
    }
    std::vector<std::string> gather(const std::string& bytes) override {
      all_.bytes_[static_cast<std::size_t>(rank_)] = bytes;
      all_.meet();
      auto out = all_.bytes_;
      all_.meet();
      return out;
    }
    void barrier() override { all_.meet(); }

   private:
    template <class T>
    void sum(Span<T> bucket) {
      const auto all = gather({reinterpret_cast<const char*>(bucket.data()), bucket.size() * sizeof(T)});
      std::fill(bucket.begin(), bucket.end(), T{});
      for (const std::string& one : all) {
        std::vector<T> values(bucket.size());
        std::memcpy(values.data(), one.data(), one.size());
        for (std::size_t n = 0; n < bucket.size(); ++n) bucket[n] += values[n];
      }
    }
    ThreadRanks& all_;
    int rank_;
  };

  void meet() {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::size_t round = round_;
    if (++come_ == size_) {
      come_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return round_ != round; });
    }
  }

  int size_, come_ = 0;
  std::size_t round_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> bytes_;
};

}  // namespace bdc::host
