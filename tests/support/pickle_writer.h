#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/zip_writer.h"

/// The instructions of pickles, written by hand: each function gives the bytes that push one value.
namespace bdc::test::pickle {

using Entries = std::vector<std::pair<std::string, std::string>>;  // name, the bytes of its value

inline std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts) out += part;
  return out;
}

inline std::string none() {
  return "N";
}
inline std::string text(const std::string& value) {
  return "X" + little_endian_bytes(value.size(), 4) + value;
}
inline std::string integer(std::int64_t value) {
  return "\x8a\x08" + little_endian_bytes(static_cast<std::uint64_t>(value), 8);
}
inline std::string tuple(const std::vector<std::string>& values) {
  return "(" + joined(values) + "t";
}
inline std::string list(const std::vector<std::string>& values) {
  return "](" + joined(values) + "e";
}
inline std::string integers(const std::vector<std::int64_t>& values) {
  std::vector<std::string> parts;
  for (const auto v : values) parts.push_back(integer(v));
  return tuple(parts);
}
inline std::string items(const Entries& entries) {
  std::string out = "(";
  for (const auto& [key, value] : entries) out += text(key) + value;
  return out + "u";
}
inline std::string dict(const Entries& entries) {
  return "}" + items(entries);
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string call(const std::string& callable, const std::vector<std::string>& arguments) {
  return callable + tuple(arguments) + "R";
}
inline std::string ordered_dict(const Entries& entries) {
  return call(global("collections", "OrderedDict"), {}) + items(entries);
}
/// An object whose attributes are set.
inline std::string object(const std::string& module, const std::string& name, const Entries& attributes) {
  return global(module, name) + ")\x81" + dict(attributes) + "b";
}
inline std::string nn_module(const Entries& parameters, const Entries& buffers, const Entries& modules) {
  return object("models.yolo", "Model",
                {{"training", "\x89"},
                 {"_parameters", ordered_dict(parameters)},
                 {"_buffers", ordered_dict(buffers)},
                 {"_modules", ordered_dict(modules)}});
}
inline std::string storage(const std::string& type, const std::string& key, std::int64_t elements) {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), integer(elements)}) + "Q";
}
inline std::string tensor(const std::string& storage_bytes, std::int64_t offset, const std::vector<std::int64_t>& shape,
                          const std::vector<std::int64_t>& strides) {
  return call(global("torch._utils", "_rebuild_tensor_v2"),
              {storage_bytes, integer(offset), integers(shape), integers(strides), "\x89", ordered_dict({})});
}
/// A whole pickle of one value.
inline std::string finished(const std::string& value) {
  return "\x80\x02" + value + ".";
}

/// Numbers as their bytes in memory.
template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string out(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

}  // namespace bdc::test::pickle
