#include "parts/roi_align.h"

#include <ATen/Parallel.h>
#include <bdc/plugin/torchvision_ops.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <cmath>

#include "parts/roi_align_gradient.h"
#include "parts/vision_kernels.h"

namespace parts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class RoiAlign : public torch::autograd::Function<RoiAlign> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& features, const Tensor& regions, double scale,
                        std::int64_t size, std::int64_t ratio, bool aligned) {
    context->save_for_backward({regions});
    context->saved_data["scale"] = scale;
    context->saved_data["size"] = size;
    context->saved_data["ratio"] = ratio;
    context->saved_data["aligned"] = aligned;
    context->saved_data["shape"] = features.sizes().vec();
    if (!features.is_cpu() && has_vision_kernel("roi_align", features)) {
      return vision::ops::roi_align(features.contiguous(), regions.contiguous(), scale, size, size, ratio, aligned);
    }
    const Tensor input = features.cpu().contiguous(), rows = regions.cpu().contiguous();
    Tensor out = torch::empty({rows.size(0), input.size(1), size, size}, input.options());
    at::parallel_for(0, rows.size(0), 8, [&](std::int64_t from, std::int64_t to) {
      torch::NoGradGuard no_grad;
      out.slice(0, from, to)
          .copy_(vision::ops::roi_align(input, rows.slice(0, from, to), scale, size, size, ratio, aligned));
    });
    return out.to(features.device());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const Tensor regions = context->get_saved_variables()[0], grad = gradients[0].contiguous();
    const double scale = context->saved_data["scale"].toDouble();
    const std::int64_t size = context->saved_data["size"].toInt(), ratio = context->saved_data["ratio"].toInt();
    const bool aligned = context->saved_data["aligned"].toBool();
    const std::vector<std::int64_t> shape = context->saved_data["shape"].toIntVector();
    const Tensor none;
    if (!grad.is_cpu() && has_vision_kernel("_roi_align_backward", grad)) {
      return {vision::ops::detail::_roi_align_backward(grad, regions, scale, size, size, shape[0], shape[1], shape[2],
                                                       shape[3], ratio, aligned),
              none,
              none,
              none,
              none,
              none};
    }
    const Tensor on_cpu = roi_align_gradient(grad.cpu(), regions.cpu(), shape, {scale, size, ratio, aligned});
    return {on_cpu.to(grad.device()), none, none, none, none, none};
  }
};

}  // namespace

Tensor parallel_roi_align(const Tensor& features, const Tensor& regions, double scale, std::int64_t output_size,
                          std::int64_t sampling_ratio, bool aligned) {
  return RoiAlign::apply(features, regions.detach(), scale, output_size, sampling_ratio, aligned);
}

Tensor RoiPool::Pooled::in_order(const Tensor& rows) const {
  Tensor back = torch::empty_like(order);
  back.index_copy_(0, order, torch::arange(order.size(0), order.options()));
  return rows.index_select(0, back);
}

Tensor RoiPool::level_of(const Tensor& boxes, const std::vector<std::int64_t>& strides) const {
  const Tensor area = (boxes.select(1, 2) - boxes.select(1, 0)) * (boxes.select(1, 3) - boxes.select(1, 1));
  const auto level = [](std::int64_t stride) { return std::log2(static_cast<double>(stride)); };
  Tensor share = area.sqrt() / canonical_size;
  if (inside != 0) share = share + inside;
  const Tensor wanted = torch::floor(share.log2() + canonical_level + outside);
  return (wanted.clamp(level(strides.front()), level(strides.back())) - level(strides.front())).to(torch::kInt64);
}

RoiPool::Pooled RoiPool::pool(const std::vector<Tensor>& features, const std::vector<std::int64_t>& strides,
                              const Tensor& boxes, const Tensor& image) const {
  const Tensor regions = torch::cat({image.unsqueeze(1).to(boxes.scalar_type()), boxes.detach()}, 1);
  const Tensor level = level_of(boxes.detach(), strides);
  Pooled out;
  std::vector<Tensor> parts, orders;
  for (std::size_t l = 0; l < strides.size(); ++l) {
    const Tensor rows = (level == static_cast<std::int64_t>(l)).nonzero().squeeze(1);
    if (rows.size(0) == 0 && (l + 1 < strides.size() || !parts.empty())) continue;
    orders.push_back(rows);
    parts.push_back(parallel_roi_align(features[l], regions.index_select(0, rows),
                                       1.0 / static_cast<double>(strides[l]), output_size, sampling_ratio, aligned));
  }
  out.features = torch::cat(parts);
  out.order = torch::cat(orders);
  return out;
}

}  // namespace parts
