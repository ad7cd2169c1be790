#include "engine/checkpoint.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <limits>

#include "bdc/base/checksum.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "engine/safetensors.h"

namespace bdc::host {
namespace {

constexpr const char *kFormat = "bdc-checkpoint-3", *kOldFormat = "bdc-checkpoint-2";

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

/// Where version 0.1 kept what observers keep now.
std::map<std::string, Json> old_observers(const TensorFile& file, const Checkpoint& c, const Json& position) {
  std::map<std::string, Json> out;
  const auto losses = file.metadata.find("losses");
  if (losses != file.metadata.end()) out["loss_meter"] = Json::parse(losses->second);
  const auto best_epoch = position.at("best_epoch").get<std::int64_t>();
  out["best_weights"] = {{"AP", position.at("best")}, {"epoch", best_epoch}};
  const auto every = Json::parse(c.config).value(Json::json_pointer("/train/evaluate_every"), std::int64_t{1});
  const bool is_counted = best_epoch > 0 && every > 0;
  out["early_stop"] = {{"waited", is_counted ? c.position.epoch / every - best_epoch / every : 0}};
  return out;
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& c) {
  TensorFile file;
  file.metadata["format"] = kFormat;
  file.metadata["config"] = c.config;
  file.metadata["classes"] = Json(c.classes).dump();
  file.metadata["labels"] = c.labels;
  file.metadata["position"] = Json{
      {"epoch", c.position.epoch},
      {"position", c.position.position},
      {"step", c.position.step},
      {"begun", c.position.begun},
      {"ema_updates", c.ema_updates},
      {"loss_scale", c.loss_scale},
      {"loss_scale_good_steps",
       c.loss_scale_good_steps}}.dump();
  file.metadata["observers"] = Json(c.observers).dump();
  file.metadata["metrics"] = Json(c.metrics).dump();
  for (const auto& [name, tensor] : c.model) file.tensors["model/" + name] = tensor;
  for (const auto& [name, tensor] : c.optimizer) file.tensors["optimizer/" + name] = tensor;
  for (const auto& [name, tensor] : c.ema) file.tensors["ema/" + name] = tensor;
  for (const auto& [name, bytes] : c.hooks) file.tensors["hook/" + name] = from_bytes(bytes);
  file.tensors["random"] = c.random_state;
  if (c.device_random_state.defined()) file.tensors["device_random"] = c.device_random_state;
  for (std::size_t n = 0; n < c.other_ranks.size(); ++n) {
    const std::string rank = "rank/" + std::to_string(n + 1);
    file.tensors[rank + "/random"] = c.other_ranks[n].random_state;
    if (c.other_ranks[n].device_random_state.defined()) {
      file.tensors[rank + "/device_random"] = c.other_ranks[n].device_random_state;
    }
  }
  file.metadata["checksum"] = checksum_of(file);
  write_safetensors(path, file);
}

double number_or_nan(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

bool is_checkpoint(const TensorFile& file) {
  const auto format = file.metadata.find("format");
  return format != file.metadata.end() && (format->second == kFormat || format->second == kOldFormat);
}

Checkpoint read_checkpoint(const std::filesystem::path& path) {
  TensorFile file = read_safetensors(path);
  const auto fail = [&](const std::string& what) -> UserError { return {ExitCode::data, path.string() + ": " + what}; };
  if (!is_checkpoint(file))
    throw fail("is not a checkpoint of this version (expected " + std::string(kFormat) + " or " + kOldFormat + ")");
  if (file.metadata["checksum"] != checksum_of(file)) throw fail("is damaged: its checksum does not match");
  Checkpoint out;
  try {
    out.config = file.metadata.at("config");
    out.classes = Json::parse(file.metadata.at("classes")).get<std::vector<std::string>>();
    const Json position = Json::parse(file.metadata.at("position"));
    out.position = {position.at("epoch").get<std::int64_t>(), position.at("position").get<std::int64_t>(),
                    position.at("step").get<std::int64_t>(), false};
    out.position.begun = position.value("begun", out.position.position > 0);
    out.ema_updates = position.at("ema_updates").get<std::int64_t>();
    out.loss_scale = position.value("loss_scale", 1.0);
    out.loss_scale_good_steps = position.value("loss_scale_good_steps", std::int64_t{0});
    const auto labels = file.metadata.find("labels");
    if (labels != file.metadata.end()) out.labels = labels->second;
    if (file.metadata.at("format") == kOldFormat) {
      out.observers = old_observers(file, out, position);
    } else {
      out.observers = Json::parse(file.metadata.at("observers")).get<std::map<std::string, Json>>();
      const Json metrics = Json::parse(file.metadata.at("metrics"));
      for (const auto& [name, value] : metrics.items()) out.metrics[name] = number_or_nan(value);
    }
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
    } else if (part == "rank") {
      const auto number = parse_integer(rest.substr(0, rest.find('/')));
      if (!number || *number < 1 || *number > static_cast<std::int64_t>(file.tensors.size())) {
        throw fail("holds an unexpected tensor '" + name + "'");
      }
      const auto place = static_cast<std::size_t>(*number - 1);
      if (out.other_ranks.size() <= place) out.other_ranks.resize(place + 1);
      auto& rank = out.other_ranks[place];
      (ends_with(name, "/device_random") ? rank.device_random_state : rank.random_state) = tensor;
    } else if (name == "random") {
      out.random_state = tensor;
    } else if (name == "device_random") {
      out.device_random_state = tensor;
    } else {
      throw fail("holds an unexpected tensor '" + name + "'");
    }
  }
  if (!out.random_state.defined()) throw fail("holds no random state");
  for (const auto& rank : out.other_ranks) {
    if (!rank.random_state.defined()) throw fail("lacks the random state of a rank");
  }
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
