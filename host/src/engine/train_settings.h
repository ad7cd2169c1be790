#pragma once

#include <bdc/plugin/detector.h>

#include <cstdint>
#include <vector>

#include "data/augment.h"
#include "engine/optimizer.h"
#include "engine/schedule.h"
#include "engine_api/run_config.h"

namespace bdc::host {

struct TrainSettings {
  std::int64_t epochs = 10, batch_size = 16, input_size = 96;
  std::int64_t accumulate = 1;  ///< batches whose gradients are added up for one optimiser step
  OptimizerSettings optimizer;
  LearningRate learning_rate;
  double ema_decay = 0;  ///< of the running mean of the weights; 0: none
  std::uint64_t seed = 0;
  std::int64_t evaluate_every = 1;
  std::int64_t patience = 0;          ///< measured epochs without a better AP before training stops; 0: never
  std::int64_t checkpoint_every = 0;  ///< optimiser steps between checkpoints within an epoch; 0: at its end only
  AugmentSettings augment;
  int workers = 0;                    ///< threads that load batches ahead
  bool sync_batchnorm = false;        ///< statistics of batch norm over the images of all ranks
  bool half_precision = false;        ///< where that is safe; needs no change of the detector
  plugin::DecodeOptions hook_limits;  ///< of what hooks are shown: predictions for the consensus
  plugin::DecodeOptions limits;       ///< of detections, which AP is measured on

  /// At optimiser step `step` (from 0) of a run on so many images.
  [[nodiscard]] double learning_rate_at(std::int64_t step, std::int64_t images) const;
  [[nodiscard]] std::int64_t batches_per_epoch(std::int64_t images) const;
  [[nodiscard]] std::int64_t steps_per_epoch(std::int64_t images) const;  ///< of the optimiser
};

/// What the loop needs of a complete config.
[[nodiscard]] TrainSettings train_settings(const RunConfig& config);

/// The images of each batch of epoch `epoch`, in the order in which it visits them; depends on seed and epoch alone.
[[nodiscard]] std::vector<std::vector<std::int64_t>> epoch_batches(const TrainSettings& settings, std::int64_t epoch,
                                                                   std::int64_t images);

/// The order in which epoch `epoch` visits `count` images; depends on seed and epoch alone.
[[nodiscard]] std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t count);

}  // namespace bdc::host
