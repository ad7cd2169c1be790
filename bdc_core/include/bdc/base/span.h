#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace bdc {

/// A view of consecutive values that someone else owns.
template <class T>
class Span {
 public:
  Span() = default;
  Span(T* data, std::size_t size) : data_(data), size_(size) {}
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T> || std::is_same_v<U, T>>>
  Span(std::vector<U>& values) : data_(values.data()), size_(values.size()) {}
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  Span(const std::vector<U>& values) : data_(values.data()), size_(values.size()) {}
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  Span(Span<U> other) : data_(other.data()), size_(other.size()) {}

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* begin() const { return data_; }
  [[nodiscard]] T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace bdc
