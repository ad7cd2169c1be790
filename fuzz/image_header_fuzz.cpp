#include <cstdlib>
#include <sstream>

#include "bdc/base/image_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes), size));
  const auto found = bdc::read_image_header(in);
  if (found &&
      (found->shown_width() <= 0 || found->shown_height() <= 0 || found->orientation < 1 || found->orientation > 8))
    std::abort();
  return 0;
}
