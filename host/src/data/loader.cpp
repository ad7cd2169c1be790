#include "data/loader.h"

#include <torch/types.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

namespace bdc::host {
namespace {

struct Stopped {};

/// Hands on a data set's images until it is told to stop, so that a batch that nobody waits for is given up.
class StoppableData : public Dataset {
 public:
  explicit StoppableData(const Dataset& inner) : inner_(inner) {}
  [[nodiscard]] const CrowdData& labels() const override { return inner_.labels(); }
  [[nodiscard]] cv::Mat image(std::int64_t index) const override {
    if (stop_) throw Stopped{};
    return inner_.image(index);
  }
  void stop() { stop_ = true; }

 private:
  const Dataset& inner_;
  std::atomic<bool> stop_{false};
};

struct Outcome {
  std::optional<Batch> batch;
  std::exception_ptr error;
};

}  // namespace

/// The lists, what is ready, and the threads. `mutex_` guards everything below it.
class BatchLoader::Work {
 public:
  Work(const Dataset& data, std::vector<std::vector<std::int64_t>> lists, const LoaderSettings& settings)
      : data_(data),
        lists_(std::move(lists)),
        settings_(settings),
        to_make_(static_cast<std::size_t>(std::max<std::int64_t>(0, settings.first))),
        to_hand_out_(to_make_) {
    if (settings_.workers > 0) settings_.batch.threads = 1;
    const std::size_t left = lists_.size() - std::min(to_make_, lists_.size());
    const std::size_t workers = std::min(static_cast<std::size_t>(std::max(0, settings_.workers)), left);
    ahead_ = 2 * workers;
    try {
      for (std::size_t w = 0; w < workers; ++w) threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {  // the system gives no more threads: those that run will do, or the caller's
    }
  }
  ~Work() {
    finish();
    for (auto& thread : threads_) thread.join();
  }

  std::optional<Batch> next() {
    while (to_hand_out_ < lists_.size()) {
      Outcome outcome = threads_.empty() ? make(to_hand_out_) : wait_for(to_hand_out_);
      if (outcome.error) {
        finish();
        std::rethrow_exception(outcome.error);
      }
      if (threads_.empty()) ++to_hand_out_;
      if (outcome.batch->size() > 0) return std::move(outcome.batch);
    }
    return std::nullopt;
  }

 private:
  /// No more batches.
  void finish() {
    data_.stop();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
      to_hand_out_ = lists_.size();
    }
    changed_.notify_all();
  }

  Outcome make(std::size_t number) {
    Outcome out;
    try {
      out.batch = make_batch(data_, lists_[number], settings_.input_size, settings_.batch);
      out.batch->number = static_cast<std::int64_t>(number);
    } catch (...) {
      out.error = std::current_exception();
    }
    return out;
  }

  Outcome wait_for(std::size_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return ready_.count(number) > 0; });
    Outcome outcome = std::move(ready_.at(number));
    ready_.erase(number);
    ++to_hand_out_;
    lock.unlock();
    changed_.notify_all();
    return outcome;
  }

  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || to_make_ >= lists_.size() || to_make_ < to_hand_out_ + ahead_; });
      if (stop_ || to_make_ >= lists_.size()) return;
      const std::size_t number = to_make_++;
      lock.unlock();
      Outcome outcome = make(number);
      lock.lock();
      ready_.emplace(number, std::move(outcome));
      changed_.notify_all();
    }
  }

  StoppableData data_;
  const std::vector<std::vector<std::int64_t>> lists_;
  LoaderSettings settings_;
  std::size_t ahead_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t to_make_, to_hand_out_;
  std::map<std::size_t, Outcome> ready_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

BatchLoader::BatchLoader(const Dataset& data, std::vector<std::vector<std::int64_t>> lists,
                         const LoaderSettings& settings)
    : work_(std::make_unique<Work>(data, std::move(lists), settings)) {}

BatchLoader::~BatchLoader() = default;

std::optional<Batch> BatchLoader::next() {
  return work_->next();
}

}  // namespace bdc::host
