#include "parts/sparse_conv.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <vector>

namespace parts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Above this share of cells with a gradient the plain convolution's is cheaper.
constexpr double kFewCells = 0.2;

/// A cell of a map, B x C x h x w.
struct Cell {
  std::int64_t image, y, x;
};

/// Cells where any channel of `pull` (B x O x h x w) is not zero, in order of image, y, x.
template <class Number>
std::vector<Cell> cells_with_gradient(const Tensor& pull) {
  const std::int64_t batch = pull.size(0), channels = pull.size(1), height = pull.size(2), width = pull.size(3);
  const std::int64_t area = height * width;
  std::vector<char> touched(static_cast<std::size_t>(batch * area), 0);
  const Number* from = pull.data_ptr<Number>();
  for (std::int64_t b = 0; b < batch; ++b) {
    char* to = touched.data() + b * area;
    for (std::int64_t c = 0; c < channels; ++c, from += area) {
      for (std::int64_t i = 0; i < area; ++i) to[i] = static_cast<char>(to[i] | (from[i] != 0));
    }
  }
  std::vector<Cell> out;
  for (std::int64_t i = 0; i < batch * area; ++i) {
    if (touched[static_cast<std::size_t>(i)] != 0) out.push_back({i / area, i % area / width, i % width});
  }
  return out;
}

/// Calls use(number in the map, number in the row) for channel c of a cell's window; rows hold C x 3 x 3 numbers.
template <class Use>
void for_window(const Cell& cell, std::int64_t channels, std::int64_t c, std::int64_t height, std::int64_t width,
                const Use& use) {
  const std::int64_t plane = (cell.image * channels + c) * height * width;
  for (std::int64_t dy = 0; dy < 3; ++dy) {
    const std::int64_t y = cell.y + dy - 1;
    if (y < 0 || y >= height) continue;
    for (std::int64_t dx = 0; dx < 3; ++dx) {
      const std::int64_t x = cell.x + dx - 1;
      if (x >= 0 && x < width) use(plane + y * width + x, (c * 3 + dy) * 3 + dx);
    }
  }
}

/// The gradients of x, weight and bias. x, pull: contiguous.
template <class Number>
variable_list few_cells_backward(const Tensor& x, const Tensor& weight, const Tensor& pull,
                                 const std::vector<Cell>& cells) {
  const std::int64_t channels = x.size(1), height = x.size(2), width = x.size(3), area = height * width;
  const std::int64_t out = weight.size(0), row = channels * 9, count = static_cast<std::int64_t>(cells.size());
  Tensor windows = torch::zeros({count, row}, x.options()), pulls = torch::empty({count, out}, x.options());
  const Number *map = x.data_ptr<Number>(), *pulled = pull.data_ptr<Number>();
  Number *window = windows.data_ptr<Number>(), *of_cell = pulls.data_ptr<Number>();
  at::parallel_for(0, count, 16, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t n = from; n < to; ++n) {
      const Cell& cell = cells[static_cast<std::size_t>(n)];
      for (std::int64_t c = 0; c < channels; ++c) {
        for_window(cell, channels, c, height, width,
                   [&](std::int64_t at, std::int64_t i) { window[n * row + i] = map[at]; });
      }
      for (std::int64_t o = 0; o < out; ++o) {
        of_cell[n * out + o] = pulled[(cell.image * out + o) * area + cell.y * width + cell.x];
      }
    }
  });
  const Tensor window_pulls = pulls.mm(weight.reshape({out, row}));
  Tensor x_pull = torch::zeros_like(x);
  const Number* spread = window_pulls.data_ptr<Number>();
  Number* sum = x_pull.data_ptr<Number>();
  // A channel belongs to one thread, which adds in the order of cells: the same bits for any number of threads.
  at::parallel_for(0, channels, 8, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::int64_t c = from; c < to; ++c) {
        for_window(cells[static_cast<std::size_t>(n)], channels, c, height, width,
                   [&](std::int64_t at, std::int64_t i) { sum[at] += spread[n * row + i]; });
      }
    }
  });
  return {x_pull, pulls.t().mm(windows).view(weight.sizes()), pulls.sum(0)};
}

class SparseConv : public torch::autograd::Function<SparseConv> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    context->save_for_backward({x, weight});
    return torch::conv2d(x, weight, bias, 1, 1);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor& weight = saved[1];
    // Half precision gives half gradients; sums need more.
    const Tensor x = saved[0].to(weight.scalar_type()).contiguous();
    const Tensor pull = gradients[0].to(weight.scalar_type()).contiguous();
    variable_list out;
    if (x.is_cpu()) {
      AT_DISPATCH_FLOATING_TYPES(weight.scalar_type(), "conv3x3_sparse_gradient", [&] {
        const std::vector<Cell> cells = cells_with_gradient<scalar_t>(pull);
        if (static_cast<double>(cells.size()) <= kFewCells * static_cast<double>(x.numel() / x.size(1))) {
          out = few_cells_backward<scalar_t>(x, weight, pull, cells);
        }
      });
    }
    if (out.empty()) {
      const auto all = at::convolution_backward(pull, x, weight, at::IntArrayRef({weight.size(0)}), {1, 1}, {1, 1},
                                                {1, 1}, false, {0, 0}, 1, {true, true, true});
      out = {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
    }
    out[0] = out[0].to(saved[0].scalar_type());
    return out;
  }
};

}  // namespace

Tensor conv3x3_sparse_gradient(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return SparseConv::apply(x, weight, bias);
}

}  // namespace parts
