#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "config/json_file.h"
#include "train/optimizer.h"

namespace bdc::host {

/// Where a run stands. `position` is the number of steps done in `epoch`.
struct RunPosition {
  std::int64_t epoch = 0;
  std::int64_t position = 0;
  std::int64_t step = 0;
};

/// Everything a run needs to go on as if it had never stopped: weights and buffers, optimiser, random state, hooks'
/// states, the resolved config and the place in the epoch. One safetensors file, written to a temporary name and
/// renamed.
struct Checkpoint {
  RunPosition position;
  Json config;
  std::map<std::string, torch::Tensor> model;
  std::map<std::string, torch::Tensor> optimizer;
  torch::Tensor random_state;
  std::map<std::string, std::string> hooks;
};

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
/// Throws UserError (exit 4) when the file is no checkpoint of this program or is damaged.
[[nodiscard]] Checkpoint read_checkpoint(const std::filesystem::path& path);

/// Parameters and buffers by name.
[[nodiscard]] std::map<std::string, torch::Tensor> module_state(torch::nn::Module& module);
/// Copies them into the module. Throws UserError (exit 4) unless names, shapes and types are the module's own.
void load_module_state(torch::nn::Module& module, const std::map<std::string, torch::Tensor>& state);

}  // namespace bdc::host
