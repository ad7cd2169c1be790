#pragma once

#include <cstddef>
#include <functional>

namespace bdc {

/// Cores of this machine that may be used by this process, at least 1.
[[nodiscard]] int default_threads();

/// Calls body(begin, end, chunk) for consecutive chunks of [0, n). The division into chunks depends on n and chunk_size
/// alone, never on the number of threads: reduce per chunk, then over chunks in order, and the bits are the same for
/// any `threads` (0: default_threads()). Where the system gives fewer threads, those do the work. The first exception
/// thrown by a chunk is rethrown after all threads have stopped.
void parallel_chunks(std::size_t n, std::size_t chunk_size, int threads,
                     const std::function<void(std::size_t begin, std::size_t end, std::size_t chunk)>& body);

}  // namespace bdc
