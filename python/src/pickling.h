#pragma once

#include <pybind11/pybind11.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "bdc/base/error.h"

/// The library's arrays as bytes, for pickle and copy.deepcopy within one version of the package.
namespace bdc::python {

template <class T>
pybind11::bytes to_bytes(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return pybind11::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <class T>
std::vector<T> from_bytes(pybind11::handle given) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = given.cast<std::string>();
  if (bytes.size() % sizeof(T) != 0) throw DataError("a pickle of another version of bdc, or a damaged one");
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(static_cast<void*>(out.data()), bytes.data(), bytes.size());
  return out;
}

inline void check_pickle(const pybind11::tuple& state, std::size_t size) {
  if (state.size() != size || state[0].cast<std::string>() != BDC_VERSION) {
    throw DataError("a pickle of another version of bdc, or a damaged one");
  }
}

}  // namespace bdc::python
