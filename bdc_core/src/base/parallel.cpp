#include "bdc/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bdc/base/now_seconds.h"

namespace bdc {
namespace {

thread_local InterruptionCheck* current_check = nullptr;

}  // namespace

InterruptionCheck::InterruptionCheck(std::function<void()> check)
    : check_(std::move(check)), outer_(std::exchange(current_check, this)) {}

InterruptionCheck::~InterruptionCheck() {
  current_check = outer_;
}

void InterruptionCheck::look() {
  InterruptionCheck* here = current_check;
  if (here == nullptr) return;
  const double now = now_seconds();
  if (now - here->last_ < 0.2) return;
  here->last_ = now;
  here->check_();
}

int default_threads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void parallel_chunks(std::size_t n, std::size_t chunk_size, int threads,
                     const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  if (n == 0) return;
  chunk_size = std::max<std::size_t>(1, chunk_size);
  const std::size_t chunks = (n + chunk_size - 1) / chunk_size;
  if (threads <= 0) threads = default_threads();
  const auto run = [&](std::size_t chunk) { body(chunk * chunk_size, std::min(n, (chunk + 1) * chunk_size), chunk); };
  if (threads == 1 || chunks == 1) {
    for (std::size_t c = 0; c < chunks; ++c) {
      InterruptionCheck::look();
      run(c);
    }
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto work = [&] {
    try {
      for (std::size_t c = next++; c < chunks; c = next++) {
        InterruptionCheck::look();
        run(c);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(error_mutex);
      if (!error) error = std::current_exception();
      next = chunks;
    }
  };
  std::vector<std::thread> pool;
  const std::size_t helpers = std::min<std::size_t>(static_cast<std::size_t>(threads), chunks) - 1;
  pool.reserve(helpers);
  try {
    for (std::size_t t = 0; t < helpers; ++t) pool.emplace_back(work);
  } catch (const std::system_error&) {  // the system has no more threads to give; fewer do the same work
  }
  work();
  for (auto& thread : pool) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace bdc
