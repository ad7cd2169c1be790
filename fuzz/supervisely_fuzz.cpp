#include "fuzz_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  bdc::ReadOptions options;
  options.format = "supervisely";
  bdc::fuzz::read_format(bytes, size, options, "in.json");
  return 0;
}
