#include <cstdlib>
#include <sstream>

#include "base/image_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes), size));
  const auto found = bdc::read_image_size(in);
  if (found && (found->first <= 0 || found->second <= 0)) std::abort();
  return 0;
}
