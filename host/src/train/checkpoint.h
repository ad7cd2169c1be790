#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/json_file.h"
#include "train/optimizer.h"
#include "train/safetensors.h"

namespace bdc::host {

/// Where a run stands. `position` is the number of steps done in `epoch`.
struct RunPosition {
  std::int64_t epoch = 0;
  std::int64_t position = 0;
  std::int64_t step = 0;
};

/// What the losses of an epoch add up to so far, by name; "loss" is the total.
struct LossSums {
  std::map<std::string, double> sums;
  std::int64_t batches = 0;
};

/// Everything a run needs to go on as if it had never stopped: weights and buffers, optimiser, random state, hooks'
/// states, the resolved config and the place in the epoch. One safetensors file, written to a temporary name and
/// renamed. It carries a checksum, so that damage anywhere is noticed.
struct Checkpoint {
  RunPosition position;
  LossSums losses;  ///< of the batches before `position` in its epoch; empty in checkpoints of older versions
  Json config;
  std::vector<std::string> classes;  ///< names, in the detector's order
  std::string labels;                ///< labels_digest of what it trains on; empty in checkpoints of older versions
  std::map<std::string, torch::Tensor> model;
  std::map<std::string, torch::Tensor> optimizer;
  std::map<std::string, torch::Tensor> ema;  ///< running mean of the weights; empty when that is off
  std::int64_t ema_updates = 0;
  double best = -1;             ///< best AP so far; -1: none yet
  std::int64_t best_epoch = 0;  ///< the epoch it is from, counted from 1
  torch::Tensor random_state;
  torch::Tensor device_random_state;  ///< of the CUDA device; undefined on the CPU
  double loss_scale = 1.0;            ///< of mixed precision
  std::int64_t loss_scale_good_steps = 0;
  std::map<std::string, std::string> hooks;
};

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
/// Whether the file says that it is a checkpoint of this version.
[[nodiscard]] bool is_checkpoint(const TensorFile& file);
/// Throws UserError (exit 4) when the file is no checkpoint of this program or is damaged.
[[nodiscard]] Checkpoint read_checkpoint(const std::filesystem::path& path);

/// Parameters and buffers by name.
[[nodiscard]] std::map<std::string, torch::Tensor> module_state(torch::nn::Module& module);
/// Copies them into the module. Throws UserError (exit 4) unless names, shapes and types are the module's own.
void load_module_state(torch::nn::Module& module, const std::map<std::string, torch::Tensor>& state);

}  // namespace bdc::host
