#include "train/checkpoint.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include "app/user_error.h"
#include "train/safetensors.h"

namespace bdc::host {
namespace {

constexpr const char* kFormat = "bdc-checkpoint-1";

torch::Tensor from_bytes(const std::string& bytes) {
  torch::Tensor t = torch::empty({static_cast<std::int64_t>(bytes.size())}, torch::kUInt8);
  if (!bytes.empty()) std::copy(bytes.begin(), bytes.end(), static_cast<char*>(t.data_ptr()));
  return t;
}

std::string to_bytes(const torch::Tensor& t) {
  const auto* data = static_cast<const char*>(t.data_ptr());
  return {data, data + t.nbytes()};
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& c) {
  TensorFile file;
  file.metadata["format"] = kFormat;
  file.metadata["config"] = c.config.dump();
  file.metadata["position"] =
      Json{{"epoch", c.position.epoch}, {"position", c.position.position}, {"step", c.position.step}}.dump();
  for (const auto& [name, tensor] : c.model) file.tensors["model/" + name] = tensor;
  for (const auto& [name, tensor] : c.optimizer) file.tensors["optimizer/" + name] = tensor;
  for (const auto& [name, bytes] : c.hooks) file.tensors["hook/" + name] = from_bytes(bytes);
  file.tensors["random"] = c.random_state;
  write_safetensors(path, file);
}

Checkpoint read_checkpoint(const std::filesystem::path& path) {
  TensorFile file = read_safetensors(path);
  const auto fail = [&](const std::string& what) -> UserError { return {ExitCode::data, path.string() + ": " + what}; };
  if (file.metadata["format"] != kFormat)
    throw fail("is not a checkpoint of this version (expected " + std::string(kFormat) + ")");
  Checkpoint out;
  try {
    out.config = Json::parse(file.metadata.at("config"));
    const Json position = Json::parse(file.metadata.at("position"));
    out.position = {position.at("epoch").get<std::int64_t>(), position.at("position").get<std::int64_t>(),
                    position.at("step").get<std::int64_t>()};
  } catch (const std::exception&) {
    throw fail("its metadata is damaged");
  }
  if (out.position.epoch < 0 || out.position.position < 0 || out.position.step < 0)
    throw fail("its metadata is damaged");
  for (auto& [name, tensor] : file.tensors) {
    const auto slash = name.find('/');
    const std::string part = name.substr(0, slash), rest = slash == std::string::npos ? "" : name.substr(slash + 1);
    if (part == "model") {
      out.model[rest] = tensor;
    } else if (part == "optimizer") {
      out.optimizer[rest] = tensor;
    } else if (part == "hook") {
      out.hooks[rest] = to_bytes(tensor);
    } else if (name == "random") {
      out.random_state = tensor;
    } else {
      throw fail("holds an unexpected tensor '" + name + "'");
    }
  }
  if (!out.random_state.defined()) throw fail("holds no random state");
  return out;
}

std::map<std::string, torch::Tensor> module_state(torch::nn::Module& module) {
  std::map<std::string, torch::Tensor> out;
  for (const auto& p : module.named_parameters()) out[p.key()] = p.value();
  for (const auto& b : module.named_buffers()) out[b.key()] = b.value();
  return out;
}

void load_module_state(torch::nn::Module& module, const std::map<std::string, torch::Tensor>& state) {
  torch::NoGradGuard no_grad;
  auto own = module_state(module);
  const auto fail = [](const std::string& what) {
    throw UserError(ExitCode::data, "the weights do not fit the detector: " + what);
  };
  for (const auto& [name, tensor] : state) {
    const auto it = own.find(name);
    if (it == own.end()) fail("it has no tensor '" + name + "'");
    if (it->second.sizes() != tensor.sizes() || it->second.scalar_type() != tensor.scalar_type()) {
      fail("'" + name + "' has another shape or type");
    }
  }
  for (auto& [name, tensor] : own) {
    const auto it = state.find(name);
    if (it == state.end()) fail("'" + name + "' is missing");
    tensor.copy_(it->second);
  }
}

}  // namespace bdc::host
