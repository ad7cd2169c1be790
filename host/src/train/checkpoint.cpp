#include "train/checkpoint.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <limits>

#include "app/user_error.h"
#include "files/checksum.h"
#include "train/safetensors.h"

namespace bdc::host {
namespace {

constexpr const char* kFormat = "bdc-checkpoint-2";

torch::Tensor from_bytes(const std::string& bytes) {
  torch::Tensor t = torch::empty({static_cast<std::int64_t>(bytes.size())}, torch::kUInt8);
  if (!bytes.empty()) std::copy(bytes.begin(), bytes.end(), static_cast<char*>(t.data_ptr()));
  return t;
}

std::string to_bytes(const torch::Tensor& t) {
  const auto* data = static_cast<const char*>(t.data_ptr());
  return {data, data + t.nbytes()};
}

std::string checksum_of(const TensorFile& file) {
  Checksum sum;
  for (const auto& [key, value] : file.metadata) {
    if (key == "checksum") continue;
    sum.add(key);
    sum.add(value);
  }
  for (const auto& [name, tensor] : file.tensors) {
    const torch::Tensor t = tensor.detach().to(torch::kCPU).contiguous();
    sum.add(name);
    for (const auto size : t.sizes()) sum.add(&size, sizeof(size));
    sum.add(t.data_ptr(), t.nbytes());
  }
  return sum.text();
}

LossSums to_loss_sums(const Json& json) {
  LossSums out;
  out.batches = json.at("batches").get<std::int64_t>();
  for (const auto& [name, sum] : json.at("sums").items()) {  // JSON has null for what is not finite
    out.sums[name] = sum.is_null() ? std::numeric_limits<double>::quiet_NaN() : sum.get<double>();
  }
  return out;
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& c) {
  TensorFile file;
  file.metadata["format"] = kFormat;
  file.metadata["config"] = c.config.dump();
  file.metadata["classes"] = Json(c.classes).dump();
  file.metadata["labels"] = c.labels;
  file.metadata["position"] = Json{
      {"epoch", c.position.epoch},
      {"position", c.position.position},
      {"step", c.position.step},
      {"ema_updates", c.ema_updates},
      {"best", c.best},
      {"best_epoch", c.best_epoch},
      {"loss_scale", c.loss_scale},
      {"loss_scale_good_steps",
       c.loss_scale_good_steps}}.dump();
  Json sums = Json::object();
  for (const auto& [name, sum] : c.losses.sums) sums[name] = sum;
  file.metadata["losses"] = Json{{"sums", sums}, {"batches", c.losses.batches}}.dump();
  for (const auto& [name, tensor] : c.model) file.tensors["model/" + name] = tensor;
  for (const auto& [name, tensor] : c.optimizer) file.tensors["optimizer/" + name] = tensor;
  for (const auto& [name, tensor] : c.ema) file.tensors["ema/" + name] = tensor;
  for (const auto& [name, bytes] : c.hooks) file.tensors["hook/" + name] = from_bytes(bytes);
  file.tensors["random"] = c.random_state;
  if (c.device_random_state.defined()) file.tensors["device_random"] = c.device_random_state;
  file.metadata["checksum"] = checksum_of(file);
  write_safetensors(path, file);
}

bool is_checkpoint(const TensorFile& file) {
  const auto format = file.metadata.find("format");
  return format != file.metadata.end() && format->second == kFormat;
}

Checkpoint read_checkpoint(const std::filesystem::path& path) {
  TensorFile file = read_safetensors(path);
  const auto fail = [&](const std::string& what) -> UserError { return {ExitCode::data, path.string() + ": " + what}; };
  if (!is_checkpoint(file)) throw fail("is not a checkpoint of this version (expected " + std::string(kFormat) + ")");
  if (file.metadata["checksum"] != checksum_of(file)) throw fail("is damaged: its checksum does not fit");
  Checkpoint out;
  try {
    out.config = Json::parse(file.metadata.at("config"));
    out.classes = Json::parse(file.metadata.at("classes")).get<std::vector<std::string>>();
    const Json position = Json::parse(file.metadata.at("position"));
    out.position = {position.at("epoch").get<std::int64_t>(), position.at("position").get<std::int64_t>(),
                    position.at("step").get<std::int64_t>()};
    out.ema_updates = position.at("ema_updates").get<std::int64_t>();
    out.best = position.at("best").get<double>();
    out.best_epoch = position.at("best_epoch").get<std::int64_t>();
    out.loss_scale = position.value("loss_scale", 1.0);
    out.loss_scale_good_steps = position.value("loss_scale_good_steps", std::int64_t{0});
    const auto labels = file.metadata.find("labels");
    if (labels != file.metadata.end()) out.labels = labels->second;
    const auto losses = file.metadata.find("losses");
    if (losses != file.metadata.end()) out.losses = to_loss_sums(Json::parse(losses->second));
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
    } else if (part == "ema") {
      out.ema[rest] = tensor;
    } else if (part == "hook") {
      out.hooks[rest] = to_bytes(tensor);
    } else if (name == "random") {
      out.random_state = tensor;
    } else if (name == "device_random") {
      out.device_random_state = tensor;
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
