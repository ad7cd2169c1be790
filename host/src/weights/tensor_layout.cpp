#include "weights/tensor_layout.h"

#include <cstring>
#include <stdexcept>

namespace bdc::host {
namespace {

bool is_row_major(const TensorLayout& layout) {
  std::int64_t expected = 1;
  for (std::size_t d = layout.shape.size(); d-- > 0;) {
    if (layout.shape[d] != 1 && layout.strides[d] != expected) return false;
    expected *= layout.shape[d];
  }
  return true;
}

}  // namespace

void copy_elements(const TensorLayout& layout, const std::string& storage, char* out) {
  const auto count = static_cast<std::uint64_t>(layout.elements());
  if (count == 0) return;
  const std::uint64_t size = element_size(layout.type);
  auto last = static_cast<std::uint64_t>(layout.offset);
  for (std::size_t d = 0; d < layout.shape.size(); ++d)
    last += static_cast<std::uint64_t>((layout.shape[d] - 1) * layout.strides[d]);
  if (last >= storage.size() / size) throw std::out_of_range("copy_elements: the tensor leaves its storage");
  const char* const from = storage.data() + static_cast<std::uint64_t>(layout.offset) * size;
  if (is_row_major(layout)) {
    std::memcpy(out, from, count * size);
    return;
  }
  std::vector<std::int64_t> index(layout.shape.size(), 0);
  std::int64_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * size, from + static_cast<std::uint64_t>(at) * size, size);
    for (std::size_t d = layout.shape.size(); d-- > 0;) {
      at += layout.strides[d];
      if (++index[d] < layout.shape[d]) break;
      at -= layout.strides[d] * layout.shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace bdc::host
