// Files of torch.save: UserError with a message, or tensors that lie within the file and are sound to copy.
#include <cstdlib>

#include "bdc/base/user_error.h"
#include "weights/torch_archive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const bdc::host::TorchArchive archive(
        bdc::host::ByteSource::memory(std::string(reinterpret_cast<const char*>(bytes), size), "x.pt"));
    std::map<std::string, std::string> values;
    std::size_t total = 0;
    archive.read([&](const std::string& name, const bdc::host::TensorLayout& layout) {
      auto& room = values[name];
      room.resize(static_cast<std::size_t>(layout.elements()) * bdc::host::element_size(layout.type));
      total += room.size();
      return room.data();
    });
    if (values.size() != archive.tensors().size() || values.empty()) std::abort();
    if (total > 2 * size + (1u << 20)) std::abort();
  } catch (const bdc::UserError& error) {
    if (error.code() != bdc::ExitCode::data || std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
