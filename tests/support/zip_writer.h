#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bdc::test {

/// A file of an archive, and the lies to tell about it.
struct ZipMember {
  std::string name, bytes;
  unsigned method = 0, flags = 0;
  std::optional<std::uint64_t> size = {}, packed_size = {}, header_at = {};
  std::optional<std::string> local_name = {};
  std::optional<std::uint32_t> crc = {};
};

inline std::string little_endian_bytes(std::uint64_t value, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
  return out;
}

/// Bit by bit, by the definition.
inline std::uint32_t slow_crc32(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1u) ? 0xEDB88320u : 0u);
  }
  return ~crc;
}

/// An archive of stored files; with `zip64`, all sizes and places are said in 64 bits, as for files above 4 GiB.
inline std::string zip_archive(const std::vector<ZipMember>& members, bool zip64 = false,
                               std::optional<std::uint64_t> count = {}) {
  const auto le = little_endian_bytes;
  std::string out, directory;
  for (const auto& m : members) {
    const std::uint64_t header = m.header_at.value_or(out.size()), size = m.size.value_or(m.bytes.size()),
                        packed = m.packed_size.value_or(m.bytes.size());
    const std::string local = m.local_name.value_or(m.name);
    const std::uint32_t crc = m.crc.value_or(slow_crc32(m.bytes));
    out += "PK\3\4" + le(45, 2) + le(m.flags, 2) + le(m.method, 2) + le(0, 4) + le(crc, 4) + le(m.bytes.size(), 4) +
           le(m.bytes.size(), 4) + le(local.size(), 2) + le(8, 2) + local + "FB" + le(4, 2) + "ZZZZ" + m.bytes;
    const std::string wide = zip64 ? le(1, 2) + le(24, 2) + le(size, 8) + le(packed, 8) + le(header, 8) : "";
    const auto narrow = [&](std::uint64_t v) { return le(zip64 ? 0xffffffffu : v, 4); };
    directory += "PK\1\2" + le(45, 2) + le(45, 2) + le(m.flags, 2) + le(m.method, 2) + le(0, 4) + le(crc, 4) +
                 narrow(packed) + narrow(size) + le(m.name.size(), 2) + le(wide.size(), 2) + le(0, 2) + le(0, 2) +
                 le(0, 2) + le(0, 4) + narrow(header) + m.name + wide;
  }
  const std::uint64_t at = out.size(), n = count.value_or(members.size());
  out += directory;
  if (zip64) {
    const std::uint64_t record = out.size();
    out += "PK\6\6" + le(44, 8) + le(45, 2) + le(45, 2) + le(0, 4) + le(0, 4) + le(n, 8) + le(n, 8) +
           le(directory.size(), 8) + le(at, 8);
    out += "PK\6\7" + le(0, 4) + le(record, 8) + le(1, 4);
    return out + "PK\5\6" + le(0, 4) + le(0xffff, 2) + le(0xffff, 2) + le(0xffffffffu, 4) + le(0xffffffffu, 4) +
           le(0, 2);
  }
  return out + "PK\5\6" + le(0, 4) + le(n, 2) + le(n, 2) + le(directory.size(), 4) + le(at, 4) + le(0, 2);
}

/// What torch.save writes: the pickle, and a file for each storage by its key.
inline std::string torch_archive(const std::string& pickle, const std::map<std::string, std::string>& storages) {
  std::vector<ZipMember> members = {{"archive/data.pkl", pickle}};
  for (const auto& [key, bytes] : storages) members.push_back({"archive/data/" + key, bytes});
  members.push_back({"archive/version", "3\n"});
  return zip_archive(members);
}

}  // namespace bdc::test
