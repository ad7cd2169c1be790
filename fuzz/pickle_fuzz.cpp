// Pickles, without the archive around them, whose checksum stops nearly every change: as data, and as named tensors.
// The same pickle is also packed with a few storages, so that tensors are copied.
#include <cstdlib>

#include "bdc/base/user_error.h"
#include "support/zip_writer.h"
#include "weights/torch_archive.h"
#include "weights/torch_pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace bdc::host;
  const std::string pickle(reinterpret_cast<const char*>(bytes), size);
  try {
    const PickleTree tree = unpickle(pickle, "x.pkl");
    for (PickleId id = 0; id < tree.size(); ++id) {
      if (tree.describe(id).size() > 1000) std::abort();
      for (const PickleId item : tree[id].items) {
        if (item != kNoValue && item >= tree.size()) std::abort();
      }
    }
    for (const auto& [name, tensor] : find_tensors(tree, "x.pkl").tensors) {
      if (tensor.layout.shape.size() != tensor.layout.strides.size() || tensor.storage_elements < 0) std::abort();
    }
    std::map<std::string, std::string> storages;
    for (int key = 0; key < 20; ++key) storages[std::to_string(key)] = std::string(key % 2 ? 8 : 216, '\1');
    const TorchArchive archive(ByteSource::memory(bdc::test::torch_archive(pickle, storages), "x.pt"));
    std::map<std::string, std::string> values;
    archive.read([&](const std::string& name, const TensorLayout& layout) {
      auto& room = values[name];
      room.resize(static_cast<std::size_t>(layout.elements()) * element_size(layout.type));
      return room.data();
    });
  } catch (const bdc::UserError& error) {
    if (error.code() != bdc::ExitCode::data || std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
