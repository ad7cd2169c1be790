#include "fuzz_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  bdc::ReadOptions options;
  options.format = "csv";
  bdc::fuzz::read_format(bytes, size, options, "in.csv");
  return 0;
}
