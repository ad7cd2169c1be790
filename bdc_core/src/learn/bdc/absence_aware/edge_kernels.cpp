#include "learn/bdc/absence_aware/edge_kernels.h"

#include <cmath>
#include <cstring>

// A version for wider registers, chosen when the program starts. It has no fused operations, so the bits agree.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define BDC_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define BDC_WIDE
#endif

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
