#include "files/tensorboard.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include "bdc/base/crc32.h"
#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <class T>
std::string raw(T value) {  // little-endian, as the format wants
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
  return out;
}

// Protobuf fields: the number and the kind of encoding in one byte, then the content.
std::string field_double(int number, double value) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 1) + raw(value);
}
std::string field_float(int number, float value) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 5) + raw(value);
}
std::string field_int(int number, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(static_cast<std::uint64_t>(value));
}
std::string field_bytes(int number, const std::string& value) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(value.size()) + value;
}

std::uint32_t masked_crc(const std::string& bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace

std::string scalar_event(double time, std::int64_t step, const std::map<std::string, double>& values) {
  std::string summary;
  for (const auto& [name, value] : values) {
    summary += field_bytes(1, field_bytes(1, name) + field_float(2, static_cast<float>(value)));
  }
  return field_double(1, time) + field_int(2, step) + field_bytes(5, summary);
}

TensorBoardFile::TensorBoardFile(const std::filesystem::path& folder) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  for (int n = 0; path_.empty() || std::filesystem::exists(path_); ++n) {
    path_ =
        folder / ("events.out.tfevents." + std::to_string(seconds) + ".bdc" + (n > 0 ? "." + std::to_string(n) : ""));
  }
  out_.open(path_, std::ios::binary);
  write_record(field_double(1, wall_time()) + field_bytes(3, "brain.Event:2"));
}

void TensorBoardFile::add(std::int64_t step, const std::map<std::string, double>& values) {
  write_record(scalar_event(wall_time(), step, values));
}

void TensorBoardFile::write_record(const std::string& event) {
  const std::string length = raw(static_cast<std::uint64_t>(event.size()));
  out_ << length << raw(masked_crc(length)) << event << raw(masked_crc(event));
  if (!out_.flush()) {
    throw UserError(ExitCode::failure, path_.string() + ": cannot be written: " + std::strerror(errno));
  }
}

}  // namespace bdc::host
