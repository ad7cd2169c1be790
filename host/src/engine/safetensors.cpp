#include "engine/safetensors.h"

#include <torch/nn.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "bdc/base/atomic_file.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "files/json_file.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMaxHeader = 16u << 20;
constexpr std::size_t kMaxNesting = 8;
constexpr const char* kDamaged = "; it is cut off or damaged";

/// Objects of many members are looked up fast, which ours (in the order of the file) are not.
using Header = nlohmann::json;

struct Type {
  const char* name;
  torch::ScalarType type;
};
constexpr Type kTypes[] = {
    {"F64", torch::kFloat64}, {"F32", torch::kFloat32}, {"F16", torch::kFloat16}, {"BF16", torch::kBFloat16},
    {"I64", torch::kInt64},   {"I32", torch::kInt32},   {"I16", torch::kInt16},   {"I8", torch::kInt8},
    {"U8", torch::kUInt8},    {"BOOL", torch::kBool},
};

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw UserError(ExitCode::data, path.string() + ": " + what);
}

/// Looks through the text of a header for what its tree no longer shows or must not have: names that stand twice in one
/// object, and deep nesting. (The callback of Header::parse could tell, but with it a header of many members takes
/// quadratic time.)
class HeaderScan : public nlohmann::json_sax<Header> {
 public:
  std::string problem;  ///< empty: none, or the text is not JSON

  bool key(string_t& name) override {
    if (names_.back().insert(name).second) return true;
    problem = "'" + printable(name, 100) + "' appears twice in its header";
    return false;
  }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const Header::exception&) override { return false; }

 private:
  bool open() {
    names_.emplace_back();
    if (names_.size() > kMaxNesting) problem = "its header is nested too deeply";
    return problem.empty();
  }
  bool close() {
    names_.pop_back();
    return true;
  }

  std::vector<std::unordered_set<std::string>> names_;  // of each object that is open; none for arrays
};

std::string found(const Header& value) {
  return type_of(value.is_structured() ? (value.is_array() ? Json::array() : Json::object()) : Json(value));
}

std::uint64_t unsigned_at(const Header& value, const fs::path& path, const std::string& where) {
  if (!value.is_number_unsigned()) fail(path, where + ": expected an unsigned integer, found " + found(value));
  return value.get<std::uint64_t>();
}

struct Slot {
  std::string name;
  torch::ScalarType type = torch::kFloat32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;
};

Slot read_slot(const std::string& name, const Header& entry, std::uint64_t data_size, const fs::path& path) {
  const std::string where = "tensor '" + printable(name, 100) + "'";
  if (!entry.is_object()) fail(path, where + ": expected an object, found " + found(entry));
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!entry.contains(key)) fail(path, where + ": has no \"" + key + "\"");
  }
  Slot slot;
  slot.name = name;
  const Header& dtype = entry["dtype"];
  const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Type& t) {
    return dtype.is_string() && dtype.get<std::string>() == t.name;
  });
  if (type == std::end(kTypes)) fail(path, where + ": dtype is " + found(dtype) + ", which is not supported");
  slot.type = type->type;
  const Header& shape = entry["shape"];
  if (!shape.is_array() || shape.size() > 16) fail(path, where + ": shape must be a list of at most 16 sizes");
  // The sizes of an empty tensor must be ones that can be multiplied, too.
  constexpr std::uint64_t most = std::uint64_t{1} << 56;
  std::uint64_t bytes = c10::elementSize(slot.type);
  bool empty = false;
  for (const auto& size : shape) {
    const std::uint64_t n = unsigned_at(size, path, where + ": shape");
    if (n > 1 && bytes > most / n)
      fail(path, where + ": shape " + shape.dump() + " needs more bytes than the file has" + kDamaged);
    bytes *= n > 1 ? n : 1;
    empty = empty || n == 0;
    slot.shape.push_back(static_cast<std::int64_t>(n));
  }
  if (empty) bytes = 0;
  if (bytes > data_size)
    fail(path, where + ": shape " + shape.dump() + " needs more bytes than the file has" + kDamaged);
  const Header& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) fail(path, where + ": data_offsets must be [begin, end]");
  slot.begin = unsigned_at(offsets[0], path, where + ": data_offsets");
  slot.end = unsigned_at(offsets[1], path, where + ": data_offsets");
  if (slot.begin > slot.end || slot.end > data_size) {
    fail(path, where + ": bytes " + offsets.dump() + " are outside the file's " + std::to_string(data_size) +
                   " bytes of data" + kDamaged);
  }
  if (slot.end - slot.begin != bytes) {
    fail(path, where + ": shape " + shape.dump() + " of " + type->name + " needs " + std::to_string(bytes) +
                   " bytes, data_offsets give " + std::to_string(slot.end - slot.begin));
  }
  return slot;
}

}  // namespace

void write_safetensors(const fs::path& path, const TensorFile& content) {
  Json header = Json::object();
  if (!content.metadata.empty()) header["__metadata__"] = content.metadata;
  std::vector<torch::Tensor> parts;
  std::uint64_t at = 0;
  for (const auto& [name, tensor] : content.tensors) {
    torch::Tensor t = tensor.detach().to(torch::kCPU).contiguous();
    const auto* type =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Type& k) { return k.type == t.scalar_type(); });
    if (type == std::end(kTypes)) fail(path, "tensor '" + name + "' has a type that safetensors files cannot hold");
    header[name] = {{"dtype", type->name}, {"shape", t.sizes().vec()}, {"data_offsets", {at, at + t.nbytes()}}};
    at += t.nbytes();
    parts.push_back(std::move(t));
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  bytes.reserve(8 + text.size() + at);
  const std::uint64_t length = text.size();
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((length >> (8 * i)) & 0xff);
  bytes += text;
  for (const auto& t : parts) bytes.append(static_cast<const char*>(t.data_ptr()), t.nbytes());
  write_file_atomically(path, bytes);
}

TensorFile read_safetensors(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) fail(path, "no such file");
  const std::uint64_t size = fs::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) fail(path, "cannot be opened");
  unsigned char prefix[8];
  if (size < 8 || !in.read(reinterpret_cast<char*>(prefix), 8)) fail(path, "is too short for a safetensors file");
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = (length << 8) | prefix[i];
  if (length > size - 8) {
    fail(path, "is cut off or not a safetensors file: it should begin with a header of " + std::to_string(length) +
                   " bytes, but only " + std::to_string(size - 8) + " follow");
  }
  if (length > kMaxHeader) {
    fail(path, "is not a safetensors file, or has too many tensors: its header has " + std::to_string(length) +
                   " bytes, at most " + std::to_string(kMaxHeader) + " are read");
  }
  std::string text(length, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(length))) fail(path, "is cut off in its header");
  HeaderScan scan;
  if (!Header::sax_parse(text, &scan) && !scan.problem.empty()) fail(path, scan.problem);
  Header header;
  try {
    header = Header::parse(text);
  } catch (const Header::exception&) {
    fail(path, "its header is not valid JSON");
  }
  if (!header.is_object()) fail(path, "its header is not a JSON object");
  const std::uint64_t data_size = size - 8 - length;
  TensorFile out;
  std::vector<Slot> slots;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) fail(path, "__metadata__: expected an object, found " + found(entry));
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string())
          fail(path, "__metadata__." + printable(key) + ": expected a string, found " + found(value));
        out.metadata[key] = value.get<std::string>();
      }
    } else {
      slots.push_back(read_slot(name, entry, data_size, path));
    }
  }
  std::sort(slots.begin(), slots.end(),
            [](const Slot& a, const Slot& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  std::uint64_t expected = 0;
  for (const auto& slot : slots) {
    if (slot.begin != expected) {
      fail(path, "tensor '" + printable(slot.name, 100) + "' " +
                     (slot.begin < expected ? "overlaps another" : "leaves a gap") + " at byte " +
                     std::to_string(slot.begin));
    }
    expected = slot.end;
    torch::Tensor t = torch::empty(slot.shape, torch::TensorOptions().dtype(slot.type));
    if (t.nbytes() > 0 && !in.read(static_cast<char*>(t.data_ptr()), static_cast<std::streamsize>(t.nbytes()))) {
      fail(path, "is cut off in tensor '" + printable(slot.name, 100) + "'");
    }
    // A bool in memory is 0 or 1; in the file it may be any byte.
    out.tensors[slot.name] = slot.type == torch::kBool ? t.view(torch::kUInt8).ne(0) : t;
  }
  if (expected != data_size)
    fail(path, "has " + std::to_string(data_size - expected) + " bytes that belong to no tensor");
  return out;
}

}  // namespace bdc::host
