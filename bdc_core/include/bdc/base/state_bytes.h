#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/// Plain values and vectors of them as bytes and back, for checkpoints of this very program: the machine's own byte
/// order. One function describes a state for both directions: `archive(value)` for each member in turn.
namespace bdc {

class StateWriter {
 public:
  template <class T>
  void operator()(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "plain data only");
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>, "plain data only");
    (*this)(static_cast<std::uint64_t>(values.size()));
    if (!values.empty()) bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class StateReader {
 public:
  explicit StateReader(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  void operator()(T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "plain data only");
    copy(&value, sizeof(T));
  }
  /// Vectors keep the size they have: a state of another size belongs to another crowd.
  template <class T>
  void operator()(std::vector<T>& values) {
    std::uint64_t count = 0;
    (*this)(count);
    if (count != values.size()) throw std::invalid_argument("the state of BDC belongs to other labels");
    copy(values.data(), values.size() * sizeof(T));
  }
  /// A vector of any size, not larger than the bytes that are left.
  template <class T>
  void resized(std::vector<T>& values) {
    std::uint64_t count = 0;
    (*this)(count);
    if (count > (bytes_.size() - at_) / sizeof(T)) throw std::invalid_argument("the state of BDC is cut off");
    values.resize(static_cast<std::size_t>(count));
    copy(values.data(), values.size() * sizeof(T));
  }
  [[nodiscard]] bool is_at_end() const { return at_ == bytes_.size(); }
  void finish() const {
    if (at_ != bytes_.size()) throw std::invalid_argument("the state of BDC is longer than expected");
  }

 private:
  void copy(void* into, std::size_t size) {
    if (size > bytes_.size() - at_) throw std::invalid_argument("the state of BDC is cut off");
    if (size > 0) std::memcpy(into, bytes_.data() + at_, size);
    at_ += size;
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

}  // namespace bdc
