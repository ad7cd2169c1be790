#include "engine/weight_updater.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <cmath>

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
}

void WeightUpdater::add(const torch::Tensor& loss) {
  if (waiting_ == 0) optimizer_.zero_grad();
  // A full group's share of the gradient; step() makes up for batches that are missing.
  const double share = loss_scale_.factor() / accumulate_;
  call_plugin("plugin '" + detector_.name() + "'", "backward",
              [&] { (share == 1.0 ? loss : loss * share).backward(); });
  ++waiting_;
}

void WeightUpdater::sum_over_ranks() {
  if (ranks_.is_alone()) return;
  torch::NoGradGuard no_grad;
  for (torch::Tensor& p : parameters_) {
    if (!p.requires_grad()) continue;
    if (!p.grad().defined()) p.mutable_grad() = torch::zeros_like(p);  // every rank sends the same buckets
    torch::Tensor bucket = p.grad().to(torch::kCPU, torch::kFloat32).contiguous();
    ranks_.all_reduce({bucket.data_ptr<float>(), static_cast<std::size_t>(bucket.numel())});
    p.mutable_grad().copy_(bucket);
  }
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
}

}  // namespace bdc::host
