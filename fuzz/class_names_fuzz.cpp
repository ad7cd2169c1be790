#include <cstdlib>
#include <sstream>

#include "bdc/base/error.h"
#include "crowd/image_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  for (const char* name : {"classes.txt", "data.yaml"}) {
    std::istringstream in(std::string(reinterpret_cast<const char*>(bytes), size));
    try {
      for (const std::string& text : bdc::read_class_names(in, name)) {
        if (text.empty()) std::abort();
      }
    } catch (const bdc::DataError&) {
    }
  }
  return 0;
}
