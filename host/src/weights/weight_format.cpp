#include "weights/weight_format.h"

#include <algorithm>

namespace bdc::host {

WeightFormat weight_format(const ByteSource& bytes) {
  if (bytes.size() == 0) bytes.fail("is empty; expected weights");
  const std::string start = bytes.read(0, std::min<std::uint64_t>(bytes.size(), 9));
  if (start.compare(0, 2, "PK") == 0) return WeightFormat::torch_archive;
  if (start.size() == 9 && start[8] == '{') return WeightFormat::safetensors;
  if (start[0] == '\x80' && start.size() > 1 && start[1] <= 5) {
    bytes.fail(
        "is a bare pickle, as torch.save wrote them before PyTorch 1.6; none of it was read. Save it again with "
        "PyTorch 1.13 or newer:\n"
        "  python3 -c \"import torch; torch.save(torch.load('IN', map_location='cpu', weights_only=True), 'OUT')\"\n"
        "  weights_only=True is what keeps a hostile file from running commands there; do not leave it out");
  }
  bytes.fail("is neither a safetensors file nor one from torch.save");
}

}  // namespace bdc::host
