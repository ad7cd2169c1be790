#include "learn/bdc/absence_aware/edge_kernels.h"

#include <cmath>
#include <cstring>

#include "base/wide.h"

namespace bdc::absence_aware {
namespace {

/// Four numbers, one per edge.
using Four = double __attribute__((vector_size(32)));

/// A product is turned into a sum of logarithms before it leaves [1 / this, this].
constexpr double kLargestProduct = 1e100;

}  // namespace

/// Declares `name` with the four numbers of an array.
#define BDC_LOAD(name, from) \
  Four name;                 \
  std::memcpy(&(name), (from).data(), sizeof(name))

BDC_WIDE void update_edges(const Members& members, double tail, bool reweight, Candidate& c) {
  BDC_LOAD(mean, c.mean);
  BDC_LOAD(variance, c.variance);
  const Four scale = {c.scale[0], c.scale[1], c.scale[0], c.scale[1]}, per_scale = 1 / scale;
  const Four spread = variance * per_scale * per_scale;
  Four total = {}, weighted = {};
  for (const std::int32_t n : members.index) {
    const Item& item = members.item[n];
    const SourceBelief& s = members.source[item.source];
    BDC_LOAD(edge, item.edge);
    BDC_LOAD(precision, s.precision);
    BDC_LOAD(bias, s.bias);
    Four w = precision;
    if (reweight) {
      BDC_LOAD(doubt, s.bias_doubt);
      const Four error = (edge - mean) * per_scale - bias;
      w *= (tail + 1) / (tail + (precision * (error * error + spread) + doubt));
    }
    total += w;
    weighted += w * (edge - scale * bias);
  }
  mean = weighted / total;
  variance = scale * scale / total;
  std::memcpy(c.mean.data(), &mean, sizeof(mean));
  std::memcpy(c.variance.data(), &variance, sizeof(variance));
}

BDC_WIDE std::array<double, 2> log_tails(const Members& members, double tail, const Candidate& c,
                                         const std::array<double, 2>& scale) {
  BDC_LOAD(mean, c.mean);
  BDC_LOAD(variance, c.variance);
  const double per_x = 1 / scale[0], per_y = 1 / scale[1];
  const Four per_scale = {per_x, per_y, per_x, per_y}, spread = variance * per_scale * per_scale;
  double x = 1, y = 1;
  std::array<double, 2> sum{};
  for (const std::int32_t n : members.index) {
    const Item& item = members.item[n];
    const SourceBelief& s = members.source[item.source];
    BDC_LOAD(edge, item.edge);
    BDC_LOAD(precision, s.precision);
    BDC_LOAD(bias, s.bias);
    BDC_LOAD(doubt, s.bias_doubt);
    const Four error = (edge - mean) * per_scale - bias;
    const Four factor = 0.5 * (tail + (precision * (error * error + spread) + doubt));
    x *= factor[0] * factor[2];
    y *= factor[1] * factor[3];
    if (x < kLargestProduct && y < kLargestProduct && x > 1 / kLargestProduct && y > 1 / kLargestProduct) continue;
    sum[0] += std::log(x);
    sum[1] += std::log(y);
    x = y = 1;
  }
  sum[0] += std::log(x);
  sum[1] += std::log(y);
  return sum;
}

BDC_WIDE EdgeChange join_edges(const Item& item, const SourceBelief& s, double tail, const Candidate& c) {
  BDC_LOAD(mean, c.mean);
  BDC_LOAD(variance, c.variance);
  BDC_LOAD(edge, item.edge);
  BDC_LOAD(precision, s.precision);
  BDC_LOAD(bias, s.bias);
  BDC_LOAD(doubt, s.bias_doubt);
  const double per_x = 1 / c.scale[0], per_y = 1 / c.scale[1];
  const Four scale = {c.scale[0], c.scale[1], c.scale[0], c.scale[1]}, per_scale = {per_x, per_y, per_x, per_y};
  const Four off = edge - mean, spread = variance * per_scale * per_scale, error = off * per_scale - bias;
  const Four far = precision * (error * error + spread) + doubt;
  const Four pull = precision * spread * ((tail + 1) / (tail + far));  // variance x weight
  const Four narrowed = 1 / (1 + pull), step = pull * narrowed * (off - scale * bias);
  const Four left = (off - step) * per_scale - bias;
  const Four factor = 0.5 * (tail + (precision * (left * left + spread * narrowed) + doubt));
  const Four divergence = 0.5 * (step * step / variance + narrowed - 1);
  return {narrowed[0] * narrowed[1] * narrowed[2] * narrowed[3], factor[0] * factor[1] * factor[2] * factor[3],
          divergence[0] + divergence[1] + divergence[2] + divergence[3]};
}

BDC_WIDE EdgeChange leave_edges(const Item& item, const SourceBelief& s, double tail, const Candidate& c) {
  BDC_LOAD(mean, c.mean);
  BDC_LOAD(variance, c.variance);
  BDC_LOAD(edge, item.edge);
  BDC_LOAD(precision, s.precision);
  BDC_LOAD(bias, s.bias);
  BDC_LOAD(doubt, s.bias_doubt);
  const double per_x = 1 / c.scale[0], per_y = 1 / c.scale[1];
  const Four scale = {c.scale[0], c.scale[1], c.scale[0], c.scale[1]}, per_scale = {per_x, per_y, per_x, per_y};
  const Four off = edge - mean, spread = variance * per_scale * per_scale, error = off * per_scale - bias;
  const Four d = precision * (error * error + spread) + doubt;
  const Four pull = precision * spread * ((tail + 1) / (tail + d));
  const Four rest = 1 - pull, least = {1e-3, 1e-3, 1e-3, 1e-3};
  const Four kept = rest > least ? rest : least, widened = 1 / kept;
  const Four step = pull * widened * (off - scale * bias);
  const Four factor = 0.5 * (tail + d);
  const Four divergence = 0.5 * (step * step * kept / variance + kept - 1);
  return {widened[0] * widened[1] * widened[2] * widened[3], factor[0] * factor[1] * factor[2] * factor[3],
          divergence[0] + divergence[1] + divergence[2] + divergence[3]};
}

BDC_WIDE void add_to(double* sum, const double* terms, std::size_t count, double weight) {
  if (weight == 1) {
    for (std::size_t n = 0; n < count; ++n) sum[n] += terms[n];
  } else {
    for (std::size_t n = 0; n < count; ++n) sum[n] += weight * terms[n];
  }
}

BDC_WIDE void add_edges(const Item& item, const SourceBelief& s, double tail, const Candidate& c, double place,
                        bool sizes, SourceEvidence& sums) {
  BDC_LOAD(mean, c.mean);
  BDC_LOAD(variance, c.variance);
  BDC_LOAD(edge, item.edge);
  BDC_LOAD(precision, s.precision);
  BDC_LOAD(bias, s.bias);
  BDC_LOAD(doubt, s.bias_doubt);
  const double per_x = 1 / c.scale[0], per_y = 1 / c.scale[1];
  const Four per_scale = {per_x, per_y, per_x, per_y};
  const Four pixels = edge - mean, scaled = pixels * per_scale, spread = variance * per_scale * per_scale;
  const Four error = scaled - bias;
  const Four w = place * (tail + 1) / (tail + (precision * (error * error + spread) + doubt));
  BDC_LOAD(weight_sum, sums.weight);
  BDC_LOAD(error_sum, sums.error);
  BDC_LOAD(square_sum, sums.square);
  weight_sum += w;
  error_sum += w * scaled;
  square_sum += w * (scaled * scaled + spread);
  std::memcpy(sums.weight.data(), &weight_sum, sizeof(Four));
  std::memcpy(sums.error.data(), &error_sum, sizeof(Four));
  std::memcpy(sums.square.data(), &square_sum, sizeof(Four));
  if (!sizes) return;
  const double per_width = 1 / c.size[0], per_height = 1 / c.size[1];
  const Four per_size = {per_width, per_height, per_width, per_height};
  BDC_LOAD(size_error, sums.size_error);
  BDC_LOAD(size_square, sums.size_square);
  size_error += w * pixels * per_size;
  size_square += w * (pixels * pixels + variance) * per_size * per_size;
  std::memcpy(sums.size_error.data(), &size_error, sizeof(Four));
  std::memcpy(sums.size_square.data(), &size_square, sizeof(Four));
}

#undef BDC_LOAD

}  // namespace bdc::absence_aware
