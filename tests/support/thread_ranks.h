#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bdc/base/ranks.h"

namespace bdc::test {

/// Where threads meet that stand for ranks.
class ThreadMeeting {
 public:
  explicit ThreadMeeting(int size) : size_(size), bytes_(static_cast<std::size_t>(size)) {}

  [[nodiscard]] int size() const { return size_; }
  std::vector<std::string> gather(int rank, const std::string& bytes) {
    bytes_[static_cast<std::size_t>(rank)] = bytes;
    meet();
    auto out = bytes_;
    meet();
    return out;
  }
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

 private:
  int size_, come_ = 0;
  std::size_t round_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> bytes_;
};

/// One of them, as a Ranks or what derives from it.
template <class Base>
class ThreadRankOf : public Base {
 public:
  ThreadRankOf(ThreadMeeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return meeting_.size(); }
  void all_reduce_doubles(Span<double> bucket) override { sum(bucket); }
  std::vector<std::string> gather(const std::string& bytes) override { return meeting_.gather(rank_, bytes); }
  void send_to_first(const std::string& bytes, const std::function<void(std::string)>& take) override {
    const auto all = gather(bytes);
    for (std::size_t r = 1; rank_ == 0 && r < all.size(); ++r) take(all[r]);
  }

 protected:
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
  ThreadMeeting& meeting_;

 private:
  int rank_;
};

/// Ranks as threads of one process, without a network.
template <class Rank>
class ThreadRanksOf {
 public:
  explicit ThreadRanksOf(int size) : meeting_(size) {}

  /// Runs `work(Rank&)` in a thread per rank.
  template <class Work>
  void run(const Work& work) {
    std::vector<std::thread> threads;
    for (int r = 0; r < meeting_.size(); ++r) {
      threads.emplace_back([&, r] {
        Rank rank(meeting_, r);
        work(rank);
      });
    }
    for (auto& thread : threads) thread.join();
  }

 private:
  ThreadMeeting meeting_;
};

using ThreadRanks = ThreadRanksOf<ThreadRankOf<Ranks>>;

}  // namespace bdc::test
