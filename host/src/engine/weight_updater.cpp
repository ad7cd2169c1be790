#include "engine/weight_updater.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace bdc::host {

WeightUpdater::WeightUpdater(DetectorHandle& detector, const TrainSettings& settings, Communicator& ranks)
    : detector_(detector),
      ranks_(ranks),
      accumulate_(static_cast<double>(settings.accumulate)),
      parameters_(detector.module().parameters()),
      optimizer_(detector.parameter_groups(), settings.optimizer),
      loss_scale_(settings.half_precision && detector.device().is_cuda()),
      ema_(detector.module(), settings.ema_decay) {
  if (settings.half_precision) detector.use_half_precision();
  if (ranks.is_alone()) return;
  shared_gradients_ = std::make_unique<SharedGradients>(ranks, parameters_);
  keep_buffers();
}

void WeightUpdater::add(const torch::Tensor& loss, std::int64_t images, bool is_last) {
  images_ += static_cast<double>(images);
  if (waiting_ == 0) optimizer_.zero_grad();
  if (is_last && shared_gradients_) shared_gradients_->begin();
  // A full group's share of the gradient; step() makes up for batches that are missing.
  const double share = loss_scale_.factor() / accumulate_;
  call_plugin("plugin '" + detector_.name() + "'", "backward",
              [&] { (share == 1.0 ? loss : loss * share).backward(); });
  ++waiting_;
}

void WeightUpdater::add_nothing() {
  if (waiting_ == 0) optimizer_.zero_grad();
  ++waiting_;
}

void WeightUpdater::keep_buffers() {
  torch::NoGradGuard no_grad;
  buffers_.clear();
  shared_.clear();
  std::unordered_set<const void*> seen;  // modules that stand in several places list theirs in each
  for (const torch::Tensor& buffer : detector_.module().buffers()) {
    if (!seen.insert(buffer.unsafeGetTensorImpl()).second) continue;
    if (!buffer.is_floating_point() || !torch::isfinite(buffer).all().item<bool>()) continue;
    buffers_.push_back(buffer);
    shared_.push_back(buffer.detach().clone());
  }
}

void WeightUpdater::take_weights_of_first() {
  if (ranks_.is_alone()) return;
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : module_state(detector_.module())) {
    torch::Tensor bytes = tensor.detach().cpu().contiguous().clone();
    ranks_.broadcast(bytes.data_ptr(), bytes.nbytes(), 0);
    tensor.copy_(bytes);
  }
  keep_buffers();
}

void WeightUpdater::sum_over_ranks() {
  if (ranks_.is_alone()) return;
  torch::NoGradGuard no_grad;
  // Sums of differences, so that what no rank has changed keeps its bits.
  const torch::Tensor images = torch::tensor({images_}, torch::kFloat32);
  std::vector<torch::Tensor> more{images};
  for (std::size_t n = 0; n < buffers_.size(); ++n) {
    buffers_[n].sub_(shared_[n]).mul_(images_);
    more.push_back(buffers_[n]);
  }
  shared_gradients_->finish(more);
  const double share = 1 / std::max(1.0, images.item<double>());
  for (std::size_t n = 0; n < buffers_.size(); ++n) {
    buffers_[n].mul_(share).add_(shared_[n]);
    shared_[n].copy_(buffers_[n]);
  }
  images_ = 0;
}

double WeightUpdater::step(double learning_rate) {
  sum_over_ranks();
  const double parts = static_cast<double>(waiting_) / accumulate_ * static_cast<double>(ranks_.size());
  const double norm = optimizer_.step(learning_rate, loss_scale_.factor() * parts);
  waiting_ = 0;
  if (needs_finite() && !std::isfinite(norm)) return norm;  // the caller's error
  loss_scale_.after_step(std::isfinite(norm));
  if (std::isfinite(norm)) ema_.update();
  return norm;
}

SharedGradients::Seconds WeightUpdater::take_seconds() {
  return shared_gradients_ ? shared_gradients_->take_seconds() : SharedGradients::Seconds{};
}

std::map<std::string, torch::Tensor> WeightUpdater::best_guess() {
  return ema_.is_on() ? ema_.state() : module_state(detector_.module());
}

void WeightUpdater::save(Checkpoint& c) const {
  c.model = module_state(detector_.module());
  c.optimizer = optimizer_.state();
  c.ema = ema_.state();
  c.ema_updates = ema_.updates();
  c.loss_scale = loss_scale_.factor();
  c.loss_scale_good_steps = loss_scale_.good_steps();
}

void WeightUpdater::restore(const Checkpoint& c) {
  load_module_state(detector_.module(), c.model);
  optimizer_.load_state(c.optimizer);
  if (ema_.is_on()) ema_.load_state(c.ema, c.ema_updates);
  loss_scale_.restore(c.loss_scale, c.loss_scale_good_steps);
  if (!ranks_.is_alone()) keep_buffers();
}

}  // namespace bdc::host
