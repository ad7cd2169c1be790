#include <cstdint>
#include <cstdlib>
#include <string>

#include "bdc/base/user_error.h"
#include "cli/config/flat_config.h"

// Any bytes as YAML: values, or a UserError with a message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const std::string text(reinterpret_cast<const char*>(bytes), size);
    const bdc::host::FlatConfig config = bdc::host::parse_flat_yaml(text, "in.yaml");
    if (config.order.size() != config.value.size()) std::abort();
  } catch (const bdc::UserError& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
