#pragma once

#include "weights/byte_source.h"

namespace bdc::host {

enum class WeightFormat { safetensors, torch_archive };

/// By the first bytes; the file's name does not matter. Throws UserError (exit 4), with what to do, for anything else,
/// also for what torch.save wrote before PyTorch 1.6.
[[nodiscard]] WeightFormat weight_format(const ByteSource& bytes);

}  // namespace bdc::host
