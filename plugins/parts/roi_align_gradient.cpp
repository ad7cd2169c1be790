#include "parts/roi_align_gradient.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/nn.h>

#include <algorithm>
#include <cmath>

namespace parts {
namespace {

/// A row or a column of a map, and its share of a bin's mean.
template <class Number>
struct Share {
  std::int64_t cell;
  Number share;
};

/// One axis of a region: what each of its bins is a mean of. Sampling is bilinear, so that a cell's share of a bin is
/// its row's times its column's.
template <class Number>
struct Axis {
  std::vector<std::vector<Share<Number>>> bins;
  std::int64_t first = 0, last = 0;  ///< cells first .. last-1 have shares

  /// from, to: the region's edges in pixels; cells: of the map.
  void sample(Number from, Number to, std::int64_t cells, const RoiSampling& sampling) {
    const Number scale = static_cast<Number>(sampling.scale), offset = sampling.aligned ? Number(0.5) : Number(0);
    const Number begin = from * scale - offset;
    Number length = to * scale - offset - begin;
    if (!sampling.aligned) length = std::max(length, Number(1));
    const Number bin = length / static_cast<Number>(sampling.size);
    const std::int64_t points = sampling.ratio > 0 ? sampling.ratio : static_cast<std::int64_t>(std::ceil(bin));
    bins.resize(static_cast<std::size_t>(sampling.size));
    first = cells;
    last = 0;
    for (std::size_t b = 0; b < bins.size(); ++b) {
      bins[b].clear();
      for (std::int64_t i = 0; i < points; ++i) {
        const Number inside = (static_cast<Number>(i) + Number(0.5)) * bin / static_cast<Number>(points);
        add_point(begin + static_cast<Number>(b) * bin + inside, cells, 1 / static_cast<Number>(points), bins[b]);
      }
    }
  }

 private:
  /// A point between two cells has shares of both; one more than a cell outside the map has none.
  void add_point(Number at, std::int64_t cells, Number weight, std::vector<Share<Number>>& to) {
    if (!(at >= -1 && at <= static_cast<Number>(cells))) return;
    at = std::max(at, Number(0));
    const std::int64_t low = std::min(static_cast<std::int64_t>(at), cells - 1);
    const Number part = low == cells - 1 ? Number(0) : at - static_cast<Number>(low);
    add(low, weight * (1 - part), to);
    if (part > 0) add(low + 1, weight * part, to);
  }

  void add(std::int64_t cell, Number share, std::vector<Share<Number>>& to) {
    const auto known =
        std::find_if(to.begin(), to.end(), [&](const Share<Number>& other) { return other.cell == cell; });
    known == to.end() ? to.push_back({cell, share}) : void(known->share += share);
    first = std::min(first, cell);
    last = std::max(last, cell + 1);
  }
};

/// Adds one channel of a region: pulled: size x size; plane: rows of `width` cells. `lines` is room to work in.
template <class Number>
void spread(const Number* pulled, const Axis<Number>& rows, const Axis<Number>& columns, std::int64_t width,
            std::vector<Number>& lines, Number* plane) {
  const std::int64_t length = std::max<std::int64_t>(0, columns.last - columns.first);
  for (const auto& bin : rows.bins) {
    lines.assign(static_cast<std::size_t>(length), 0);
    for (const auto& across : columns.bins) {
      const Number pull = *pulled++;
      for (const auto& column : across)
        lines[static_cast<std::size_t>(column.cell - columns.first)] += column.share * pull;
    }
    for (const auto& row : bin) {
      Number* to = plane + row.cell * width + columns.first;
      for (std::int64_t x = 0; x < length; ++x) to[x] += row.share * lines[static_cast<std::size_t>(x)];
    }
  }
}

template <class Number>
Tensor gradient(const Tensor& pull, const Tensor& regions, const std::vector<std::int64_t>& shape,
                const RoiSampling& sampling) {
  const std::int64_t batch = shape[0], channels = shape[1], height = shape[2], width = shape[3];
  const std::int64_t bins = sampling.size * sampling.size, count = regions.size(0);
  Tensor out = torch::zeros(shape, pull.options());
  const Number *from = pull.data_ptr<Number>(), *region = regions.data_ptr<Number>();
  Number* to = out.data_ptr<Number>();
  // One task per image and block of channels.
  const std::int64_t threads = at::get_num_threads();
  const std::int64_t blocks = std::min(channels, std::max<std::int64_t>(1, (threads + batch - 1) / batch));
  at::parallel_for(0, batch * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    Axis<Number> rows, columns;
    std::vector<Number> lines;
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t image = task / blocks, block = task % blocks;
      for (std::int64_t n = 0; n < count; ++n) {
        const Number* own = region + 5 * n;
        if (static_cast<std::int64_t>(own[0]) != image) continue;
        columns.sample(own[1], own[3], width, sampling);
        rows.sample(own[2], own[4], height, sampling);
        for (std::int64_t c = channels * block / blocks; c < channels * (block + 1) / blocks; ++c) {
          spread(from + (n * channels + c) * bins, rows, columns, width, lines,
                 to + (image * channels + c) * height * width);
        }
      }
    }
  });
  return out;
}

}  // namespace

Tensor roi_align_gradient(const Tensor& pull, const Tensor& regions, const std::vector<std::int64_t>& shape,
                          const RoiSampling& sampling) {
  const Tensor rows = regions.to(pull.scalar_type()).contiguous(), pulls = pull.contiguous();
  Tensor out;
  AT_DISPATCH_FLOATING_TYPES(pull.scalar_type(), "roi_align_gradient",
                             [&] { out = gradient<scalar_t>(pulls, rows, shape, sampling); });
  return out;
}

}  // namespace parts
