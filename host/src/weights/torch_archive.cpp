#include "weights/torch_archive.h"

#include <algorithm>
#include <vector>

#include "bdc/base/text.h"
#include "weights/torch_pickle.h"

namespace bdc::host {
namespace {

/// torch.save puts everything into one folder, whose name is free.
std::string find_folder(const ZipFile& zip) {
  const std::string file = "/data.pkl";
  std::vector<std::string> folders;
  for (const auto& entry : zip.entries()) {
    const auto slash = entry.name.find('/');
    if (slash != std::string::npos && entry.name.compare(slash, std::string::npos, file) == 0)
      folders.push_back(entry.name.substr(0, slash));
  }
  if (folders.size() != 1) {
    zip.source().fail("is a zip archive with " + std::to_string(folders.size()) +
                      " files <folder>/data.pkl; a file of torch.save has one");
  }
  return folders[0];
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

TorchArchive::TorchArchive(const ByteSource& bytes) : zip_(bytes) {
  const std::string folder = find_folder(zip_);
  if (zip_.find(folder + "/constants.pkl")) {
    bytes.fail(
        "is a TorchScript program, not weights; save them in Python with torch.save(torch.jit.load(FILE).state_dict(), "
        "OUT)");
  }
  if (const ZipEntry* order = zip_.find(folder + "/byteorder")) {
    if (order->size > 16 || trimmed(zip_.read(*order)) != "little")
      bytes.fail("was saved on a machine with another byte order; save it again on one with little-endian numbers");
  }
  const ZipEntry& pickle = *zip_.find(folder + "/data.pkl");
  if (pickle.size > PickleLimits{}.bytes) {
    bytes.fail("its data.pkl has " + std::to_string(pickle.size) + " bytes; at most " +
               std::to_string(PickleLimits{}.bytes) + " are allowed");
  }
  const PickleTree tree = unpickle(zip_.read(pickle), bytes.name());
  const TorchPickle found = find_tensors(tree, bytes.name());
  part_ = found.part;
  std::uint64_t room = bytes.size() * 2 + (std::uint64_t{1} << 20);
  for (const auto& [name, tensor] : found.tensors) {
    const auto fail = [&, &tensor_name = name](const std::string& what) {
      bytes.fail("tensor '" + printable(tensor_name, 100) + "': " + what);
    };
    const ZipEntry* storage = zip_.find(folder + "/data/" + tensor.storage);
    if (!storage) fail("its storage '" + printable(tensor.storage, 40) + "' is not in the file");
    const std::uint64_t size = element_size(tensor.layout.type);
    if (static_cast<std::uint64_t>(tensor.storage_elements) != storage->size / size || storage->size % size != 0) {
      fail("its storage is said to have " + std::to_string(tensor.storage_elements) + " elements of " +
           std::to_string(size) + " bytes, found " + std::to_string(storage->size) + " bytes");
    }
    const std::uint64_t needed = static_cast<std::uint64_t>(tensor.layout.elements()) * size;
    if (needed > room)
      fail("the tensors need more than twice the file's size: too many share or repeat the same bytes");
    room -= needed;
    layouts_[name] = tensor.layout;
    storages_[name] = storage;
  }
}

void TorchArchive::read(const std::function<char*(const std::string&, const TensorLayout&)>& place) const {
  std::vector<std::pair<const ZipEntry*, const std::string*>> order;
  for (const auto& [name, storage] : storages_) order.emplace_back(storage, &name);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first->at < b.first->at; });
  const ZipEntry* held = nullptr;
  std::string storage;
  for (const auto& [entry, name] : order) {
    if (entry != held) {
      storage.clear();
      storage = zip_.read(*entry);
      held = entry;
    }
    const TensorLayout& layout = layouts_.at(*name);
    copy_elements(layout, storage, place(*name, layout));
  }
}

}  // namespace bdc::host
