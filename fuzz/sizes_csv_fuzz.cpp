#include <cstdlib>
#include <sstream>

#include "bdc/base/error.h"
#include "crowd/image_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes), size));
  try {
    const bdc::ImageTable table(in, "sizes.csv");
    for (const auto& row : table.rows()) {
      const auto* found = table.find(row.label.empty() ? row.image : row.label);
      if (found != &row) std::abort();
    }
  } catch (const bdc::DataError&) {
  }
  return 0;
}
