#include <unistd.h>

#include <fstream>

#include "fuzz_format.h"

namespace {

/// Label files need an image's size, which comes from a CSV.
std::string sizes_file() {
  std::string path = "/tmp/bdc_fuzz_sizes_XXXXXX";
  const int fd = mkstemp(path.data());
  if (fd < 0) std::abort();
  close(fd);
  std::ofstream(path) << "image,width,height\nimg_a.jpg,200,100\n";
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const std::string sizes = sizes_file();
  bdc::ReadOptions options;
  options.format = "yolo";
  options.sizes_csv = sizes;
  bdc::fuzz::read_format(bytes, size, options, "alice/img_a.txt");
  return 0;
}
