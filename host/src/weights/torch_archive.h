#pragma once

#include <functional>
#include <map>
#include <string>

#include "weights/tensor_layout.h"
#include "weights/zip_file.h"

namespace bdc::host {

/// The tensors of a file that torch.save wrote (PyTorch 1.6 and later: a zip archive with a pickle and one file for
/// each storage). Nothing of the pickle is ever run. Understood are
///   - a dict of tensors (a state dict), ordered or not,
///   - a module, pickled as an object: its parameters and persistent buffers by their dotted names,
///   model.0.conv.weight,
///   - a dict with one of those under "ema", "model", "state_dict" or "model_state_dict"; the first of these that
///     has tensors is taken, and everything else (optimiser, epoch...) is left aside.
/// The official yolov7.pt is of the last kind.
class TorchArchive {
 public:
  /// Reads names and shapes and checks them against the storages. Throws UserError (exit 4) for damaged archives and
  /// pickles; for a pickle that asks for a call to something that runs code or touches files; for a kind of tensor that
  /// is not known; for shapes that are negative, overflow or leave their storage; for a file without tensors; and when
  /// the tensors, each copied on its own, would need more than twice the file's size (and 1 MiB).
  explicit TorchArchive(const ByteSource& bytes);
  TorchArchive(const TorchArchive&) = delete;
  TorchArchive& operator=(const TorchArchive&) = delete;

  [[nodiscard]] const std::map<std::string, TensorLayout>& tensors() const { return layouts_; }
  /// "ema", "model"... as above, or "" when the file is a state dict or a module itself.
  [[nodiscard]] const std::string& part() const { return part_; }

  /// For each tensor, `place(name, layout)` says where its elements go: row-major, elements() * element_size(type)
  /// bytes. Holds one storage in memory at a time. Throws UserError (exit 4) when a storage's checksum is wrong.
  void read(const std::function<char*(const std::string&, const TensorLayout&)>& place) const;

 private:
  ZipFile zip_;
  std::map<std::string, TensorLayout> layouts_;
  std::map<std::string, const ZipEntry*> storages_;  ///< of each tensor, by the tensor's name
  std::string part_;
};

}  // namespace bdc::host
