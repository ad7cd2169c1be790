#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/optimizer.h"
#include "engine/safetensors.h"
#include "files/json_file.h"

namespace bdc::host {

/// Where a run stands: before step `position` (from 0) of epoch `epoch` (from 0), after `step` optimiser steps in all.
struct RunPosition {
  std::int64_t epoch = 0;
  std::int64_t position = 0;
  std::int64_t step = 0;
  bool begun = false;  ///< hooks' before_epoch of the epoch is done: a resumed run does not call it again
};
[[nodiscard]] inline bool operator==(const RunPosition& a, const RunPosition& b) {
  return a.epoch == b.epoch && a.position == b.position && a.step == b.step && a.begun == b.begun;
}

/// Everything a run needs to go on as if it had never stopped: weights and buffers, optimiser, random state, hooks'
/// and observers' states, the resolved config and the place in the epoch. One safetensors file, written to a temporary
/// name and renamed. It carries a checksum, so that damage anywhere is noticed.
struct Checkpoint {
  RunPosition position;
  std::string config;                ///< JSON, as the run was started with; nothing here looks into it
  std::vector<std::string> classes;  ///< names, in the detector's order
  std::string labels;                ///< labels_digest of what it trains on; empty in checkpoints of older versions
  std::map<std::string, torch::Tensor> model;
  std::map<std::string, torch::Tensor> optimizer;
  std::map<std::string, torch::Tensor> ema;  ///< running mean of the weights; empty when that is off
  std::int64_t ema_updates = 0;
  torch::Tensor random_state;
  torch::Tensor device_random_state;  ///< of the CUDA device; undefined on the CPU
  struct RankState {
    torch::Tensor random_state, device_random_state;
  };
  std::vector<RankState> other_ranks;  ///< of ranks 1, 2, ..., where several trained
  double loss_scale = 1.0;             ///< of mixed precision
  std::int64_t loss_scale_good_steps = 0;
  std::map<std::string, std::string> hooks;
  std::map<std::string, Json> observers;  ///< by name; a number that is not finite is null
  std::map<std::string, double> metrics;  ///< that wait for the next record of the log
};

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);
/// Whether the file says that it is a checkpoint that can be read: of this version or of 0.1.
[[nodiscard]] bool is_checkpoint(const TensorFile& file);
/// Throws UserError (exit 4) when the file is no such checkpoint or is damaged. One of version 0.1 does not say whether
/// an epoch without a step has begun; it is taken not to have.
[[nodiscard]] Checkpoint read_checkpoint(const std::filesystem::path& path);

/// A number of a checkpoint's JSON, which has null for those that are not finite.
[[nodiscard]] double number_or_nan(const Json& value);

/// Parameters and buffers by name.
[[nodiscard]] std::map<std::string, torch::Tensor> module_state(torch::nn::Module& module);
/// Copies them into the module. Throws UserError (exit 4) unless names, shapes and types are the module's own.
void load_module_state(torch::nn::Module& module, const std::map<std::string, torch::Tensor>& state);

}  // namespace bdc::host
