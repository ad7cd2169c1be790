#include "bdc/learn/kmeans.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>

#include "bdc/base/random.h"

namespace bdc {
namespace {

double squared_distance(const double* a, const double* b, std::size_t dims) {
  double sum = 0;
  for (std::size_t d = 0; d < dims; ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

std::size_t count_points(Span<const double> points, std::size_t dims) {
  if (dims == 0 || points.size() == 0 || points.size() % dims != 0) {
    throw std::invalid_argument("k-means: expected n x dims numbers");
  }
  for (const double v : points) {
    if (!std::isfinite(v)) throw std::invalid_argument("k-means: expected finite numbers");
  }
  return points.size() / dims;
}

/// Later centres are drawn with a chance that grows with the squared distance from the nearest one so far.
std::vector<double> starting_centres(Span<const double> points, std::size_t dims, std::size_t k, Random& random) {
  const std::size_t n = points.size() / dims;
  std::vector<double> centres, nearest(n, std::numeric_limits<double>::infinity());
  auto chosen = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)));
  for (std::size_t c = 0; c < k; ++c) {
    const double* centre = points.data() + chosen * dims;
    centres.insert(centres.end(), centre, centre + dims);
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) {
      nearest[i] = std::min(nearest[i], squared_distance(points.data() + i * dims, centre, dims));
      total += nearest[i];
    }
    double left = random.uniform() * total;
    chosen = n;
    for (std::size_t i = 0; i < n; ++i) {
      if (nearest[i] <= 0) continue;
      chosen = i;
      left -= nearest[i];
      if (left < 0) break;
    }
    if (chosen == n) break;  // every point is a centre already
  }
  return centres;
}

Clustering lloyd(Span<const double> points, std::size_t dims, std::vector<double> centres) {
  const std::size_t n = points.size() / dims;
  Clustering out;
  out.dims = dims;
  out.k = centres.size() / dims;
  out.centre = std::move(centres);
  out.cluster.assign(n, -1);
  for (int round = 0; round < 200; ++round) {
    bool moved = false;
    out.within = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double best = std::numeric_limits<double>::infinity();
      std::int32_t at = 0;
      for (std::size_t c = 0; c < out.k; ++c) {
        const double d = squared_distance(points.data() + i * dims, &out.centre[c * dims], dims);
        if (d < best) best = d, at = static_cast<std::int32_t>(c);
      }
      moved = moved || out.cluster[i] != at;
      out.cluster[i] = at;
      out.within += best;
    }
    if (!moved) break;
    std::vector<double> sum(out.k * dims, 0.0), count(out.k, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      const auto c = static_cast<std::size_t>(out.cluster[i]);
      count[c] += 1;
      for (std::size_t d = 0; d < dims; ++d) sum[c * dims + d] += points[i * dims + d];
    }
    for (std::size_t c = 0; c < out.k; ++c) {
      for (std::size_t d = 0; d < dims && count[c] > 0; ++d) out.centre[c * dims + d] = sum[c * dims + d] / count[c];
    }
  }
  return out;
}

/// Groups in a fixed order, whatever the start was.
void sort_groups(Clustering& c) {
  std::vector<std::size_t> order(c.k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(&c.centre[b * c.dims], &c.centre[b * c.dims] + c.dims, &c.centre[a * c.dims],
                                        &c.centre[a * c.dims] + c.dims);
  });
  std::vector<double> centre;
  std::vector<std::int32_t> rank(c.k);
  for (std::size_t r = 0; r < c.k; ++r) {
    rank[order[r]] = static_cast<std::int32_t>(r);
    centre.insert(centre.end(), &c.centre[order[r] * c.dims], &c.centre[order[r] * c.dims] + c.dims);
  }
  c.centre = std::move(centre);
  for (auto& g : c.cluster) g = rank[static_cast<std::size_t>(g)];
}

/// Of more points the silhouette is that of a sample: it would cost their number squared.
constexpr std::size_t kSilhouettePoints = 1000;

/// At most `most` of 0 .. n-1, drawn without order; the same ones every time.
std::vector<std::size_t> sample_of(std::size_t n, std::size_t most) {
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (n <= most) return all;
  Random random(n);
  for (std::size_t i = 0; i < most; ++i) {
    std::swap(all[i], all[i + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n - i)))]);
  }
  all.resize(most);
  return all;
}

std::size_t distinct_points(Span<const double> points, std::size_t dims, std::size_t enough) {
  std::set<std::vector<double>> seen;
  for (std::size_t i = 0; i < points.size() / dims && seen.size() < enough; ++i) {
    seen.emplace(points.data() + i * dims, points.data() + (i + 1) * dims);
  }
  return seen.size();
}

}  // namespace

Clustering kmeans(Span<const double> points, std::size_t dims, std::size_t k, std::uint64_t seed, int restarts) {
  (void)count_points(points, dims);
  if (k == 0 || restarts < 1) throw std::invalid_argument("k-means: k and restarts must be at least 1");
  k = distinct_points(points, dims, k);
  Clustering best;
  for (int r = 0; r < restarts; ++r) {
    Random random(seed, k, static_cast<std::uint64_t>(r));
    Clustering now = lloyd(points, dims, starting_centres(points, dims, k, random));
    if (best.k == 0 || now.within < best.within) best = std::move(now);
  }
  sort_groups(best);
  best.silhouette = mean_silhouette(points, dims, best);
  return best;
}

double mean_silhouette(Span<const double> points, std::size_t dims, const Clustering& clustering) {
  const std::size_t n = count_points(points, dims);
  if (clustering.k < 2) return 0;
  const std::vector<std::size_t> sample = sample_of(n, kSilhouettePoints);
  std::vector<double> size(clustering.k, 0.0);
  for (const std::size_t i : sample) size[static_cast<std::size_t>(clustering.cluster[i])] += 1;
  double total = 0;
  std::vector<double> distance(clustering.k);
  for (const std::size_t i : sample) {
    const auto own = static_cast<std::size_t>(clustering.cluster[i]);
    if (size[own] < 2) continue;
    std::fill(distance.begin(), distance.end(), 0.0);
    for (const std::size_t j : sample) {
      distance[static_cast<std::size_t>(clustering.cluster[j])] +=
          std::sqrt(squared_distance(points.data() + i * dims, points.data() + j * dims, dims));
    }
    double other = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < clustering.k; ++c) {
      if (c != own && size[c] > 0) other = std::min(other, distance[c] / size[c]);
    }
    const double inside = distance[own] / (size[own] - 1), larger = std::max(inside, other);
    if (larger > 0 && std::isfinite(other)) total += (other - inside) / larger;
  }
  return total / static_cast<double>(sample.size());
}

}  // namespace bdc
