#include "engine/read_weights.h"

#include <torch/nn.h>

#include <algorithm>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "engine/checkpoint.h"
#include "engine/safetensors.h"
#include "weights/torch_archive.h"
#include "weights/weight_format.h"

namespace bdc::host {
namespace {

torch::ScalarType scalar_type(ElementType type) {
  switch (type) {
    case ElementType::float64:
      return torch::kFloat64;
    case ElementType::float32:
      return torch::kFloat32;
    case ElementType::float16:
      return torch::kFloat16;
    case ElementType::bfloat16:
      return torch::kBFloat16;
    case ElementType::int64:
      return torch::kInt64;
    case ElementType::int32:
      return torch::kInt32;
    case ElementType::int16:
      return torch::kInt16;
    case ElementType::int8:
      return torch::kInt8;
    case ElementType::uint8:
      return torch::kUInt8;
    case ElementType::boolean:
      break;
  }
  return torch::kBool;
}

Weights from_torch_archive(const ByteSource& bytes) {
  const TorchArchive archive(bytes);
  Weights out;
  out.origin = archive.part().empty() ? "torch.save" : "torch.save, its '" + archive.part() + "'";
  archive.read([&](const std::string& name, const TensorLayout& layout) {
    auto tensor = torch::empty(layout.shape, torch::TensorOptions().dtype(scalar_type(layout.type)));
    out.tensors[name] = tensor;
    return static_cast<char*>(tensor.data_ptr());
  });
  for (auto& [name, tensor] : out.tensors) {
    // A bool in memory is 0 or 1; in the file it may be any byte.
    if (tensor.scalar_type() == torch::kBool) tensor = tensor.view(torch::kUInt8).ne(0);
  }
  return out;
}

Weights from_safetensors(const std::filesystem::path& path) {
  TensorFile file = read_safetensors(path);
  Weights out;
  out.origin = "safetensors";
  for (const std::string part : {"model/", "ema/"}) {
    for (const auto& [name, tensor] : file.tensors) {
      if (name.compare(0, part.size(), part) != 0) continue;
      out.tensors[name.substr(part.size())] = tensor;
      out.origin = "checkpoint, its " + part;
    }
  }
  if (out.tensors.empty()) out.tensors = std::move(file.tensors);
  if (out.tensors.empty()) throw UserError(ExitCode::data, path.string() + ": holds no tensors");
  return out;
}

std::string shape_text(const torch::Tensor& t) {
  std::vector<std::string> sizes;
  for (const auto n : t.sizes()) sizes.push_back(std::to_string(n));
  return sizes.empty() ? "a single number" : join(sizes, " x ");
}

using Named = std::map<std::string, torch::Tensor>;

/// What must stand before the file's names so that most of them, by name and shape, are the module's own. Empty when
/// some are already, or when there is no such place.
std::string prefix_of(const Named& own, const Named& file) {
  std::map<std::string, std::size_t> fits;
  for (const auto& [name, tensor] : file) {
    if (own.count(name) != 0) return "";
  }
  for (const auto& [name, tensor] : own) {
    // Every part of the name behind a dot may be a name of the file.
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      const auto it = file.find(name.substr(dot + 1));
      if (it != file.end() && it->second.sizes() == tensor.sizes()) ++fits[name.substr(0, dot + 1)];
    }
  }
  std::string best;
  std::size_t most = 0;
  for (const auto& [prefix, count] : fits) {
    if (count > most) best = prefix, most = count;
  }
  return best;
}

/// Training on several devices puts "module." before every name.
void drop_parallel_prefix(Named& tensors) {
  const std::string prefix = "module.";
  for (const auto& [name, tensor] : tensors) {
    if (name.compare(0, prefix.size(), prefix) != 0) return;
  }
  Named plain;
  for (const auto& [name, tensor] : tensors) plain[name.substr(prefix.size())] = tensor;
  tensors = std::move(plain);
}

}  // namespace

Weights read_weights(const std::filesystem::path& path) {
  const ByteSource bytes = ByteSource::open(path);
  Weights out =
      weight_format(bytes) == WeightFormat::torch_archive ? from_torch_archive(bytes) : from_safetensors(path);
  drop_parallel_prefix(out.tensors);
  return out;
}

void widen_to_float32(Weights& weights) {
  for (auto& [name, tensor] : weights.tensors) {
    if (tensor.scalar_type() == torch::kFloat16 || tensor.scalar_type() == torch::kBFloat16)
      tensor = tensor.to(torch::kFloat32);
  }
}

LoadReport load_matching(torch::nn::Module& module, const Weights& weights) {
  torch::NoGradGuard no_grad;
  LoadReport out;
  auto own = module_state(module);
  out.prefix = prefix_of(own, weights.tensors);
  const std::string& prefix = out.prefix;
  for (const auto& [name, tensor] : weights.tensors) out.file_elements += tensor.numel();
  for (auto& [name, tensor] : own) {
    out.own_elements += tensor.numel();
    const bool inside = name.compare(0, prefix.size(), prefix) == 0;
    const auto it = inside ? weights.tensors.find(name.substr(prefix.size())) : weights.tensors.end();
    if (it == weights.tensors.end()) {
      out.missing.push_back(name);
    } else if (it->second.sizes() != tensor.sizes()) {
      out.skipped.push_back(
          {name, "is " + shape_text(it->second) + " in the file, " + shape_text(tensor) + " in the detector"});
    } else if (it->second.is_floating_point() != tensor.is_floating_point()) {
      out.skipped.push_back({name, std::string("has ") + c10::toString(it->second.scalar_type()) +
                                       " elements in the file, " + c10::toString(tensor.scalar_type()) +
                                       " in the detector"});
    } else {
      tensor.copy_(it->second);
      out.loaded.push_back(name);
      out.loaded_elements += tensor.numel();
    }
  }
  for (const auto& [name, tensor] : weights.tensors) {
    // Frozen norms count no batches.
    if (!own.count(prefix + name) && !ends_with(name, ".num_batches_tracked")) out.unexpected.push_back(name);
  }
  return out;
}

double LoadReport::share() const {
  const auto fewer = std::min(file_elements, own_elements);
  return fewer == 0 ? 0 : static_cast<double>(loaded_elements) / static_cast<double>(fewer);
}

std::string LoadReport::text() const {
  std::string out = "loaded " + std::to_string(loaded.size()) + " tensors" +
                    (prefix.empty() ? "" : " into the detector's '" + prefix.substr(0, prefix.size() - 1) + "'") + "\n";
  if (!skipped.empty()) {
    out += "skipped " + std::to_string(skipped.size()) + ", which have another shape:\n";
    for (const auto& s : skipped) out += "  " + printable(s.name, 100) + " " + s.reason + "\n";
  }
  const auto first_of = [&](const char* what, const std::vector<std::string>& names) {
    if (names.empty()) return;
    out += std::to_string(names.size()) + what;
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 5); ++i)
      out += (i ? ", " : "") + printable(names[i], 100);
    out += names.size() > 5 ? ", ...\n" : "\n";
  };
  first_of(" are not in the file and keep their initial values: ", missing);
  first_of(" of the file are not in the detector: ", unexpected);
  return out;
}

}  // namespace bdc::host
