#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <string>

namespace bdc::host {

/// Named tensors and text, as a safetensors file holds them: 8 bytes header length, a JSON header, raw little-endian
/// data.
struct TensorFile {
  std::map<std::string, torch::Tensor> tensors;  ///< on the CPU, contiguous
  std::map<std::string, std::string> metadata;
};

/// Writes to a temporary name, syncs and renames. Throws UserError (exit 1) when that fails (a full disk, say); a file
/// that was there before is then untouched.
void write_safetensors(const std::filesystem::path& path, const TensorFile& content);

/// Reads and checks everything: header within the file, known types, no negative or overflowing shapes, every tensor's
/// bytes inside the data, exactly as long as its shape needs, none overlapping, none left over. Throws UserError (exit
/// 4) with the tensor's name. Memory stays within the file's size and what a header of at most 16 MiB takes.
[[nodiscard]] TensorFile read_safetensors(const std::filesystem::path& path);

}  // namespace bdc::host
