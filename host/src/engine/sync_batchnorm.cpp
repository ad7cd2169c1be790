#include "engine/sync_batchnorm.h"

#include <ATen/ops/batch_norm_native.h>
#include <ATen/ops/batch_norm_update_stats.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

namespace bdc::host {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

thread_local SyncBatchNorm* current = nullptr;

std::vector<double> doubles_of(const Tensor& t) {
  const Tensor flat = t.to(torch::kCPU, torch::kFloat64).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

Tensor tensor_like(const std::vector<double>& numbers, const Tensor& like) {
  return torch::tensor(numbers, torch::kFloat64).to(like.options());
}

Tensor per_channel(const Tensor& numbers, const Tensor& x) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = -1;
  return numbers.view(shape);
}

/// (x - mean) / sqrt(variance + eps) * weight + bias.
Tensor normalised(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& variance,
                  double eps) {
  if (x.numel() == 0) return x.clone();
  return std::get<0>(at::native_batch_norm(x, weight, bias, mean, variance, false, 0.0, eps));
}

/// The normalisation under given statistics, whose gradient takes into account that they come from the images of all
/// ranks:
///
///     dx = weight / s * (dy - sum dy / n - x^ sum (dy x^) / n),   s = sqrt(variance + eps), x^ = (x - mean) / s,
///
/// with sums over all ranks, of whose images there are n. count: n.
class Normalise : public torch::autograd::Function<Normalise> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Tensor& mean, const Tensor& variance, double eps, double count, SyncBatchNorm* norm) {
    ctx->save_for_backward({x, weight, mean, variance});
    ctx->saved_data["eps"] = eps;
    ctx->saved_data["count"] = count;
    ctx->saved_data["norm"] = reinterpret_cast<std::int64_t>(norm);
    return normalised(x, weight, bias, mean, variance, eps);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &variance = saved[3];
    const double eps = ctx->saved_data["eps"].toDouble(), count = ctx->saved_data["count"].toDouble();
    const auto* norm = reinterpret_cast<const SyncBatchNorm*>(ctx->saved_data["norm"].toInt());
    const Tensor dy = gradients[0].defined() ? gradients[0].contiguous() : torch::zeros_like(x);

    // As if the statistics were constants; that is all for weight and bias, whose gradients are summed elsewhere.
    Tensor dweight = torch::zeros_like(weight), dbias = torch::zeros_like(weight);
    if (x.numel() > 0) {
      std::tie(std::ignore, dweight, dbias) = at::native_batch_norm_backward(
          dy, x, weight, mean, variance, {}, {}, false, eps, std::array<bool, 3>{false, true, true});
    }
    std::vector<double> sums = doubles_of(torch::cat({dbias, dweight}));
    norm->sum(sums, SyncBatchNorm::Pass::backward);
    const Tensor both = tensor_like(sums, mean) / count;
    const std::int64_t channels = mean.size(0);
    const Tensor inverse = (variance + eps).rsqrt(), scale = weight * inverse;
    const Tensor slope = -scale * inverse * both.slice(0, channels), shift = -scale * both.slice(0, 0, channels);
    // (x - mean) * slope + shift, then dy * scale on top of it.
    const Tensor dx = normalised(x, slope, shift, mean, torch::ones_like(variance), 0.0);
    return {dx.addcmul_(dy, per_channel(scale, dy)), dweight, dbias, {}, {}, {}, {}, {}};
  }
};

/// Its first input. The others get no gradient, but backward comes to them.
class Tie : public torch::autograd::Function<Tie> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& loss, torch::TensorList outputs) {
    ctx->saved_data["outputs"] = static_cast<std::int64_t>(outputs.size());
    return loss.clone();
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    variable_list out(static_cast<std::size_t>(ctx->saved_data["outputs"].toInt()) + 1);
    out[0] = gradients[0];
    return out;
  }
};

// LibTorch 1.13 and 2.x have different classes for what may be missing.
template <class Function>
struct SecondArgument;
template <class Result, class First, class Second, class... Others>
struct SecondArgument<Result(First, Second, Others...)> {
  using Type = std::decay_t<Second>;
};
using OptionalTensor = SecondArgument<decltype(at::native::batch_norm)>::Type;

Tensor or_undefined(const OptionalTensor& t) {
  return t ? *t : Tensor();
}

/// Stands in for LibTorch's batch_norm.
Tensor batch_norm(const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
                  const OptionalTensor& running_mean, const OptionalTensor& running_variance, bool training,
                  double momentum, double eps, bool cudnn_enabled) {
  if (!training || current == nullptr) {
    return at::native::batch_norm(x, weight, bias, running_mean, running_variance, training, momentum, eps,
                                  cudnn_enabled);
  }
  return current->apply(x, or_undefined(weight), or_undefined(bias), or_undefined(running_mean),
                        or_undefined(running_variance), momentum, eps);
}

/// Plugins call LibTorch's batch norm; from the first call of this on, they reach ours through its table of functions.
/// Without a Scope it changes nothing.
void stand_in_once() {
  static const auto* const kept = [] {
    auto* out = new std::vector<torch::Library>;  // until the process ends
    for (const auto key : {c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA}) {
      out->emplace_back(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
      out->back().impl("batch_norm", &batch_norm);
    }
    return out;
  }();
  (void)kept;
}

}  // namespace

SyncBatchNorm::SyncBatchNorm(Sum sum) : sum_(std::move(sum)) {
  stand_in_once();
}

SyncBatchNorm::Scope::Scope(SyncBatchNorm* norm) : before_(std::exchange(current, norm)) {}

SyncBatchNorm::Scope::~Scope() {
  current = before_;
}

Tensor SyncBatchNorm::tied(const Tensor& loss) {
  const auto outputs = std::exchange(outputs_, {});
  return outputs.empty() ? loss : Tie::apply(loss, torch::TensorList(outputs));
}

Tensor SyncBatchNorm::apply(const Tensor& x, Tensor weight, Tensor bias, const Tensor& running_mean,
                            const Tensor& running_variance, double momentum, double eps) {
  const auto type = x.scalar_type();
  const bool is_half = type == torch::kHalf || type == torch::kBFloat16;
  const Tensor in = is_half ? x.to(torch::kFloat32) : x.contiguous();
  const std::int64_t channels = in.size(1);
  const auto plain = in.options().requires_grad(false);
  if (!weight.defined()) weight = torch::ones({channels}, plain);
  if (!bias.defined()) bias = torch::zeros({channels}, plain);
  const bool learns =
      torch::GradMode::is_enabled() && (in.requires_grad() || weight.requires_grad() || bias.requires_grad());

  Tensor mean, variance;
  double count = static_cast<double>(in.numel() / channels);
  {
    torch::NoGradGuard no_grad;
    const auto n = static_cast<std::size_t>(channels);
    std::vector<double> sums(2 * n + 1);
    if (count > 0) {
      const auto [own_mean, own_variance] = at::batch_norm_update_stats(in, {}, {}, 0.0);
      const auto means = doubles_of(own_mean), variances = doubles_of(own_variance);
      for (std::size_t c = 0; c < n; ++c) {
        sums[c] = count * means[c];
        sums[n + c] = count * (variances[c] + means[c] * means[c]);
      }
    }
    sums[2 * n] = count;
    sum(sums, learns ? Pass::forward_learn : Pass::forward);
    count = sums[2 * n];
    std::vector<double> means(n), variances(n);
    for (std::size_t c = 0; c < n; ++c) {
      means[c] = sums[c] / count;
      variances[c] = std::max(0.0, sums[n + c] / count - means[c] * means[c]);
    }
    const Tensor like = torch::empty({0}, plain);
    mean = tensor_like(means, like);
    variance = tensor_like(variances, like);
    if (running_mean.defined()) running_mean.mul_(1 - momentum).add_(mean, momentum);
    const double unbiased = count / std::max(1.0, count - 1);
    if (running_variance.defined()) running_variance.mul_(1 - momentum).add_(variance, momentum * unbiased);
  }
  const Tensor out = Normalise::apply(in, weight, bias, mean, variance, eps, count, this);
  if (learns) outputs_.push_back(out);
  return is_half ? out.to(type) : out;
}

std::int64_t most_norm_channels(const std::vector<torch::Tensor>& buffers) {
  std::int64_t out = 0;
  for (const Tensor& buffer : buffers) {
    if (buffer.dim() == 1) out = std::max(out, buffer.numel());
  }
  return out;
}

}  // namespace bdc::host
