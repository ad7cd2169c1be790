#pragma once

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace bdc {

/// Gives the pages of freed small blocks back to the system, where the allocator can: otherwise a large vector that
/// grows while many small ones are freed needs new memory beside theirs.
inline void return_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace bdc
