#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace bdc::host {

/// Named weights, on the CPU and contiguous, of the types they have in the file.
struct Weights {
  std::map<std::string, torch::Tensor> tensors;
  std::string origin;  ///< what they were read from, for messages: "safetensors", "torch.save, its 'ema'"...
};

/// Reads a weight file; what it is, its bytes say and not its name:
///   - safetensors; in a checkpoint of ours the weights are what stands under model/, and where ema/ has the same name,
///     that,
///   - state dicts, modules and checkpoints of torch.save, the official yolov7.pt among them (see TorchArchive).
/// Throws UserError (exit 4) when it is none of these, damaged or hostile. No code in a file is ever run.
[[nodiscard]] Weights read_weights(const std::filesystem::path& path);

/// Float16 and bfloat16 become float32; the rest stays.
void widen_to_float32(Weights& weights);

/// What became of each name. Sorted by name.
struct LoadReport {
  struct Skipped {
    std::string name;
    std::string reason;  ///< "is 3 x 4 in the file, 5 x 4 in the detector"
  };
  std::string prefix;  ///< what was put before the file's names (see load_matching); mostly empty
  std::vector<std::string> loaded;
  std::vector<Skipped> skipped;         ///< in both, but of another shape: heads for another number of classes
  std::vector<std::string> missing;     ///< in the detector alone; keeps its initial value
  std::vector<std::string> unexpected;  ///< in the file alone

  std::int64_t loaded_elements = 0, file_elements = 0, own_elements = 0;

  /// Numbers loaded, as a share of those of the file or of the detector, whichever has fewer.
  [[nodiscard]] double share() const;
  /// A line for each kind that is not empty, with the names of what was skipped, and the first of the others.
  [[nodiscard]] std::string text() const;
};

/// Copies what fits, by name, into the module's parameters and buffers, and converts between floating types and between
/// integer types. A file in which no name is the module's may be of a part of it (an ImageNet backbone): then the
/// file's names are looked for below the module's, and the place where most of them fit is taken (backbone.body.).
/// Never throws for weights that do not fit; that nothing was loaded is for the caller to judge.
[[nodiscard]] LoadReport load_matching(torch::nn::Module& module, const Weights& weights);

}  // namespace bdc::host
