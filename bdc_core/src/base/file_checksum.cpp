#include "bdc/base/file_checksum.h"

#include <fstream>

#include "bdc/base/checksum.h"

namespace bdc {

std::string file_checksum(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return "";
  std::string block(1 << 20, '\0');
  Checksum sum;
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
    sum.add(block.data(), static_cast<std::size_t>(in.gcount()));
  }
  return sum.text();
}

}  // namespace bdc
