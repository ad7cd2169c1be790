#include "engine/train_settings.h"

#include <torch/nn.h>

#include <algorithm>

#include "bdc/base/shuffle.h"
#include "data/in_batches.h"
#include "data/open_data.h"

namespace bdc::host {

TrainSettings train_settings(const RunConfig& config) {
  const TrainConfig& train = config.train;
  TrainSettings s;
  s.epochs = train.epochs;
  s.batch_size = train.batch_size.value();
  s.input_size = train.input_size.value();
  s.accumulate = train.accumulate;
  s.optimizer = {train.optimizer.value(), train.momentum.value(), train.nesterov, train.weight_decay.value(),
                 train.clip_norm};
  s.learning_rate.start = train.learning_rate.value();
  s.learning_rate.schedule = train.schedule;
  s.learning_rate.final_share = train.final_share;
  s.learning_rate.warmup_steps = train.warmup_steps;
  s.ema_decay = train.ema_decay;
  s.seed = static_cast<std::uint64_t>(train.seed);
  s.evaluate_every = train.evaluate_every;
  s.patience = train.patience;
  s.checkpoint_every = train.checkpoint_every;
  s.augment = train.augment;
  s.workers = loader_workers(config.data);
  s.half_precision = train.amp;
  s.sync_batchnorm = train.sync_batchnorm;
  s.hook_limits = {train.hook_min_score, train.hook_nms_iou, train.hook_max_per_image};
  s.limits = {config.evaluate.min_score.value(), config.evaluate.nms_iou.value(),
              config.evaluate.max_per_image.value()};
  return s;
}

std::int64_t TrainSettings::batches_per_epoch(std::int64_t images) const {
  return (images + batch_size - 1) / batch_size;
}

std::int64_t TrainSettings::steps_per_epoch(std::int64_t images) const {
  return (batches_per_epoch(images) + accumulate - 1) / accumulate;
}

std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::int64_t epoch, std::int64_t count) {
  return shuffled(count, Random(seed, 3, static_cast<std::uint64_t>(epoch)));
}

std::vector<std::vector<std::int64_t>> epoch_batches(const TrainSettings& settings, std::int64_t epoch,
                                                     std::int64_t images) {
  return in_batches(epoch_order(settings.seed, epoch, images), settings.batch_size);
}

double TrainSettings::learning_rate_at(std::int64_t step, std::int64_t images) const {
  return learning_rate.at(step, steps_per_epoch(images) * epochs);
}

}  // namespace bdc::host
