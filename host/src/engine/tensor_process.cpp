#include "engine/tensor_process.h"

#include <ATen/Parallel.h>

#include <opencv2/core/utility.hpp>

#include "bdc/base/parallel.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace bdc::host {

void prepare_tensor_process(int threads) {
  at::set_num_threads(threads > 0 ? threads : default_threads());
  cv::setNumThreads(0);
#ifdef __GLIBC__
  constexpr int kMegabyte = 1 << 20;
  (void)mallopt(M_MMAP_THRESHOLD, 256 * kMegabyte);  // larger blocks still go back at once
  (void)mallopt(M_TRIM_THRESHOLD, 512 * kMegabyte);
#endif
}

}  // namespace bdc::host
