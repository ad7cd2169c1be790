#pragma once

#include <cstddef>
#include <functional>

namespace bdc {

/// While one of these lives, parallel_chunks calls `check` a few times a second in the thread that made it, whenever
/// that thread works on chunks. What it throws ends the work. For programs in which a person may want to stop long work
/// that has nothing to report yet.
class InterruptionCheck {
 public:
  explicit InterruptionCheck(std::function<void()> check);
  ~InterruptionCheck();
  InterruptionCheck(const InterruptionCheck&) = delete;
  InterruptionCheck& operator=(const InterruptionCheck&) = delete;

  /// Calls the check of this thread, if there is one and its turn has come.
  static void look();

 private:
  std::function<void()> check_;
  double last_ = 0;
  InterruptionCheck* outer_;
};

/// Cores of this machine that may be used by this process, at least 1.
[[nodiscard]] int default_threads();

/// Calls body(begin, end, chunk) for consecutive chunks of [0, n). The division into chunks depends on n and chunk_size
/// alone, never on the number of threads: reduce per chunk, then over chunks in order, and the bits are the same for
/// any `threads` (0: default_threads()). Where the system gives fewer threads, those do the work. The first exception
/// thrown by a chunk is rethrown after all threads have stopped.
void parallel_chunks(std::size_t n, std::size_t chunk_size, int threads,
                     const std::function<void(std::size_t begin, std::size_t end, std::size_t chunk)>& body);

}  // namespace bdc
