#include "engine/weight_updater.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <cmath>

namespace bdc::host {
namespace {

/// Tensors that are summed over the ranks, many in one message; always the same ones together, in the same order.
class Buckets {
 public:
  explicit Buckets(Communicator& ranks) : ranks_(ranks) {}

  void add(const torch::Tensor& tensor) {
    tensors_.push_back(tensor);
    numbers_ += tensor.numel();
    if (numbers_ >= kNumbers) send();
  }
  void send() {
    if (numbers_ == 0) return;
    torch::Tensor flat = torch::empty({numbers_}, torch::kFloat32);
    std::int64_t at = 0;
    for (const torch::Tensor& t : tensors_) {
      flat.slice(0, at, at + t.numel()).copy_(t.reshape({-1}));
      at += t.numel();
    }
    ranks_.all_reduce({flat.data_ptr<float>(), static_cast<std::size_t>(numbers_)});
    at = 0;
    for (torch::Tensor& t : tensors_) {
      t.copy_(flat.slice(0, at, at + t.numel()).view(t.sizes()));
      at += t.numel();
    }
    tensors_.clear();
    numbers_ = 0;
  }

 private:
  static constexpr std::int64_t kNumbers = 1 << 20;  // 4 MB
  Communicator& ranks_;
  std::vector<torch::Tensor> tensors_;
  std::int64_t numbers_ = 0;
};

}  // namespace

WeightUpdater::WeightUpdater(DetectorHandle& detector, const TrainSettings& settings, Communicator& ranks)
    : detector_(detector),
      ranks_(ranks),
      accumulate_(static_cast<double>(settings.accumulate)),
      parameters_(detector.module().parameters()),
      optimizer_(detector.parameter_groups(), settings.optimizer),
      loss_scale_(settings.half_precision && detector.device().is_cuda()),
      ema_(detector.module(), settings.ema_decay) {
  if (settings.half_precision) detector.use_half_precision();
  if (!ranks.is_alone()) keep_buffers();
}

void WeightUpdater::add(const torch::Tensor& loss, std::int64_t images) {
  images_ += static_cast<double>(images);
  if (waiting_ == 0) optimizer_.zero_grad();
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
  for (const torch::Tensor& buffer : detector_.module().buffers()) {
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
  // Which weights have a gradient anywhere, and how many images each rank has seen.
  std::vector<float> head{static_cast<float>(images_)};
  for (const torch::Tensor& p : parameters_) head.push_back(p.grad().defined() ? 1.0F : 0.0F);
  ranks_.all_reduce(head);
  Buckets buckets(ranks_);
  for (std::size_t n = 0; n < parameters_.size(); ++n) {
    torch::Tensor& p = parameters_[n];
    if (head[n + 1] == 0) continue;
    if (!p.grad().defined()) p.mutable_grad() = torch::zeros_like(p);
    buckets.add(p.mutable_grad());
  }
  // Sums of differences, so that what no rank has changed keeps its bits.
  const double share = head[0] > 0 ? images_ / static_cast<double>(head[0]) : 0;
  for (std::size_t n = 0; n < buffers_.size(); ++n) {
    buffers_[n].sub_(shared_[n]).mul_(share);
    buckets.add(buffers_[n]);
  }
  buckets.send();
  for (std::size_t n = 0; n < buffers_.size(); ++n) {
    buffers_[n].add_(shared_[n]);
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
