#pragma once

#include <map>
#include <string>

#include "weights/pickle.h"
#include "weights/tensor_layout.h"

namespace bdc::host {

/// A tensor as a pickle of torch.save describes it. The layout lies within a storage of `storage_elements` elements;
/// whether the storage has them is for the caller to check.
struct PickledTensor {
  TensorLayout layout;
  std::string storage;  ///< its key: the file data/<key> of the archive
  std::int64_t storage_elements = 0;
};

struct TorchPickle {
  std::map<std::string, PickledTensor> tensors;
  std::string part;  ///< see TorchArchive
};

/// The named tensors of a state dict, a module or a checkpoint (see TorchArchive for which are understood). `name`
/// stands before messages. Throws UserError (exit 4) as TorchArchive says. Values that are shared or contain themselves
/// cannot make it run long: at most 100,000 tensors, modules nested 64 deep, a million entries looked at.
[[nodiscard]] TorchPickle find_tensors(const PickleTree& tree, const std::string& name);

}  // namespace bdc::host
