#include "weights/zip_file.h"

#include <algorithm>

#include "bdc/base/crc32.h"
#include "bdc/base/text.h"
#include "weights/little_endian.h"

namespace bdc::host {
namespace {

constexpr std::uint64_t kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20, kCentralSize = 46, kLocalSize = 30;
constexpr std::uint64_t kMaxEntries = 200'000, kMaxDirectory = 64u << 20, kAll16 = 0xffffu, kAll32 = 0xffffffffu;

bool has_signature(std::string_view bytes, std::size_t at, char third, char fourth) {
  return bytes.size() >= at + 4 && bytes[at] == 'P' && bytes[at + 1] == 'K' && bytes[at + 2] == third &&
         bytes[at + 3] == fourth;
}

struct Directory {
  std::uint64_t at = 0, size = 0, count = 0;
};

/// The record at the end of the archive says where the directory is; a zip64 record before it says so in 64 bits.
Directory find_directory(const ByteSource& in) {
  const std::uint64_t tail_size = std::min<std::uint64_t>(in.size(), kEndSize + kAll16);
  const std::string tail = in.read(in.size() - tail_size, tail_size);
  std::size_t end = std::string::npos;
  for (std::size_t at = tail.size() < kEndSize ? 0 : tail.size() - kEndSize + 1;
       at-- > 0 && end == std::string::npos;) {
    if (has_signature(tail, at, 5, 6) && at + kEndSize + little_endian(tail, at + 20, 2) == tail.size()) end = at;
  }
  if (end == std::string::npos) in.fail("has no zip directory at its end; it is cut off or not a zip archive");
  if (little_endian(tail, end + 4, 4) != 0) in.fail("is one part of a zip archive in several files; join them first");
  Directory out{little_endian(tail, end + 16, 4), little_endian(tail, end + 12, 4), little_endian(tail, end + 10, 2)};
  if (little_endian(tail, end + 8, 2) != out.count) in.fail("its zip directory contradicts itself");
  std::uint64_t end_at = in.size() - tail_size + end;
  if (end_at >= kLocatorSize) {
    const std::string locator = in.read(end_at - kLocatorSize, kLocatorSize);
    if (has_signature(locator, 0, 6, 7)) {
      const std::uint64_t at = little_endian(locator, 8, 8);
      if (at > end_at - kLocatorSize || end_at - kLocatorSize - at < kEnd64Size)
        in.fail("its zip64 directory record is not where it is said to be");
      const std::string record = in.read(at, kEnd64Size);
      if (!has_signature(record, 0, 6, 6)) in.fail("its zip64 directory record is not where it is said to be");
      const Directory wide{little_endian(record, 48, 8), little_endian(record, 40, 8), little_endian(record, 32, 8)};
      const auto agree = [](std::uint64_t narrow, std::uint64_t all_ones, std::uint64_t w) {
        return narrow == all_ones || narrow == w;
      };
      if (!agree(out.at, kAll32, wide.at) || !agree(out.size, kAll32, wide.size) ||
          !agree(out.count, kAll16, wide.count) || little_endian(record, 24, 8) != wide.count)
        in.fail("its zip directory contradicts itself");
      out = wide;
      end_at = at;
    }
  }
  if (out.at > end_at || out.size != end_at - out.at) {
    in.fail("its zip directory is said to have " + std::to_string(out.size) + " bytes from byte " +
            std::to_string(out.at) + ", which is not where it ends");
  }
  if (out.count > kMaxEntries || out.size > kMaxDirectory || out.count > out.size / kCentralSize) {
    in.fail("is said to hold " + std::to_string(out.count) + " files in a directory of " + std::to_string(out.size) +
            " bytes; at most " + std::to_string(kMaxEntries) + " files are allowed");
  }
  return out;
}

/// Values that do not fit into 32 bits stand in the extra field 0x0001, in this order, only those that are needed.
void read_wide_values(const ByteSource& in, std::string_view extra, const std::string& where,
                      std::initializer_list<std::uint64_t*> values) {
  std::size_t at = 0;
  while (at + 4 <= extra.size()) {
    const std::uint64_t kind = little_endian(extra, at, 2), size = little_endian(extra, at + 2, 2);
    at += 4;
    if (size > extra.size() - at) break;
    if (kind == 1) {
      std::size_t field = at;
      for (std::uint64_t* value : values) {
        if (*value != kAll32) continue;
        if (field + 8 > at + size) in.fail(where + ": its zip64 sizes are cut off");
        *value = little_endian(extra, field, 8);
        field += 8;
      }
      return;
    }
    at += size;
  }
}

/// One record of the directory, checked against the header that stands before the file's bytes. `header` is set to
/// where that header begins.
ZipEntry read_entry(const ByteSource& in, std::string_view directory, std::size_t& at, std::uint64_t directory_at,
                    std::uint64_t& header) {
  if (directory.size() - at < kCentralSize || !has_signature(directory, at, 1, 2))
    in.fail("its zip directory is damaged");
  const std::uint64_t name_size = little_endian(directory, at + 28, 2),
                      extra_size = little_endian(directory, at + 30, 2),
                      comment_size = little_endian(directory, at + 32, 2);
  if (name_size + extra_size + comment_size > directory.size() - at - kCentralSize)
    in.fail("its zip directory is damaged");
  ZipEntry out;
  out.name = directory.substr(at + kCentralSize, name_size);
  const std::string where = "file '" + printable(out.name, 100) + "' in it";
  const std::uint64_t flags = little_endian(directory, at + 8, 2), method = little_endian(directory, at + 10, 2);
  if (flags & 0x2041u) in.fail(where + " is encrypted; weights must not be");
  out.crc = static_cast<std::uint32_t>(little_endian(directory, at + 16, 4));
  std::uint64_t packed = little_endian(directory, at + 20, 4);
  out.size = little_endian(directory, at + 24, 4);
  header = little_endian(directory, at + 42, 4);
  read_wide_values(in, directory.substr(at + kCentralSize + name_size, extra_size), where,
                   {&out.size, &packed, &header});
  at += kCentralSize + name_size + extra_size + comment_size;
  if (method != 0) {
    in.fail(
        where + " is compressed (method " + std::to_string(method) + ", said to expand from " + std::to_string(packed) +
        " to " + std::to_string(out.size) +
        " bytes); expected stored bytes, as torch.save writes them: save the state dict with torch.save (TorchScript "
        "programs are not read)");
  }
  if (packed != out.size) {
    in.fail(where + " is stored, yet is said to have " + std::to_string(packed) + " and " + std::to_string(out.size) +
            " bytes");
  }
  const auto outside = [&] { in.fail(where + " lies outside of the archive"); };
  if (header > directory_at || directory_at - header < kLocalSize + name_size) outside();
  const std::string local = in.read(header, kLocalSize + name_size);
  if (!has_signature(local, 0, 3, 4) || little_endian(local, 26, 2) != name_size ||
      local.compare(kLocalSize, name_size, out.name) != 0 || little_endian(local, 8, 2) != method)
    in.fail(where + ": the directory and the header before its bytes differ");
  const std::uint64_t room = directory_at - header - kLocalSize - name_size, skip = little_endian(local, 28, 2);
  if (skip > room || out.size > room - skip) outside();
  out.at = header + kLocalSize + name_size + skip;
  return out;
}

}  // namespace

ZipFile::ZipFile(ByteSource bytes) : bytes_(std::move(bytes)) {
  const Directory found = find_directory(bytes_);
  const std::string directory = bytes_.read(found.at, found.size);
  std::vector<std::pair<std::uint64_t, std::size_t>> order;  // where a file's header begins, which file
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < found.count; ++i) {
    std::uint64_t header = 0;
    ZipEntry entry = read_entry(bytes_, directory, at, found.at, header);
    if (!by_name_.emplace(entry.name, entries_.size()).second)
      bytes_.fail("holds two files '" + printable(entry.name, 100) + "'");
    order.emplace_back(header, entries_.size());
    entries_.push_back(std::move(entry));
  }
  if (at != directory.size()) bytes_.fail("its zip directory has bytes that belong to no file");
  std::sort(order.begin(), order.end());
  for (std::size_t i = 1; i < order.size(); ++i) {
    const ZipEntry& before = entries_[order[i - 1].second];
    if (order[i].first < before.at + before.size) {
      bytes_.fail("files '" + printable(before.name, 100) + "' and '" + printable(entries_[order[i].second].name, 100) +
                  "' in it overlap");
    }
  }
}

const ZipEntry* ZipFile::find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &entries_[it->second];
}

std::string ZipFile::read(const ZipEntry& entry) const {
  std::string out = bytes_.read(entry.at, entry.size);
  if (crc32(out) != entry.crc) {
    bytes_.fail("file '" + printable(entry.name, 100) +
                "' in it has a wrong checksum: the archive is damaged; download it again (or, if it was saved with "
                "checksums off, save it again with them)");
  }
  return out;
}

}  // namespace bdc::host
