#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bdc::host {

enum class ElementType { float64, float32, float16, bfloat16, int64, int32, int16, int8, uint8, boolean };

[[nodiscard]] constexpr std::uint64_t element_size(ElementType type) {
  switch (type) {
    case ElementType::float64:
    case ElementType::int64:
      return 8;
    case ElementType::float32:
    case ElementType::int32:
      return 4;
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::int16:
      return 2;
    default:
      return 1;
  }
}

/// Where a tensor's elements are in a storage. Element (i, j, ...) is number offset + i * strides[0] + j * strides[1] +
/// ... of it.
struct TensorLayout {
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape, strides;  ///< same length, none negative
  std::int64_t offset = 0;

  [[nodiscard]] std::int64_t elements() const {
    std::int64_t out = 1;
    for (const auto n : shape) out *= n;
    return out;
  }
};

/// Copies the elements in row-major order to `out`, which must have room for elements() * element_size(type) bytes.
/// The layout must lie within the storage: throws std::out_of_range otherwise.
void copy_elements(const TensorLayout& layout, const std::string& storage, char* out);

}  // namespace bdc::host
