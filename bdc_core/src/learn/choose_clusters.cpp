#include <algorithm>
#include <cmath>

#include "bdc/base/random.h"
#include "bdc/learn/kmeans.h"

namespace bdc {
namespace {

constexpr int kRestarts = 20, kReferenceRestarts = 4;
constexpr std::uint64_t kReferenceStream = 39, kReferences = 39;
constexpr int kReferencesThatMayReach = 1;
/// A smaller set shows larger silhouettes by chance, so a large one is judged severely enough by this many points.
constexpr std::size_t kReferencePoints = 200;

/// The division of k = 2 .. max_k with the largest silhouette; k = 1 where there is none.
Clustering best_division(Span<const double> points, std::size_t dims, std::size_t max_k, std::uint64_t seed,
                         int restarts) {
  Clustering best = kmeans(points, dims, 1, seed, 1);
  const std::size_t n = points.size() / dims;
  for (std::size_t k = 2; k <= max_k && k < n; ++k) {
    Clustering now = kmeans(points, dims, k, seed, restarts);
    if (now.k < k) break;
    if (best.k == 1 || now.silhouette > best.silhouette) best = std::move(now);
  }
  return best;
}

/// Lower triangle L with L L^T = the points' covariance; a direction without spread has a column of zeros.
std::vector<double> covariance_root(Span<const double> points, std::size_t dims) {
  const std::size_t n = points.size() / dims;
  std::vector<double> mean(dims, 0.0), root(dims * dims, 0.0);
  for (std::size_t i = 0; i < points.size(); ++i) mean[i % dims] += points[i] / static_cast<double>(n);
  for (std::size_t a = 0; a < dims; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double left = 0;
      for (std::size_t i = 0; i < n; ++i) {
        left += (points[i * dims + a] - mean[a]) * (points[i * dims + b] - mean[b]) / static_cast<double>(n);
      }
      const double spread = left;
      for (std::size_t c = 0; c < b; ++c) left -= root[a * dims + c] * root[b * dims + c];
      if (a == b) {
        root[a * dims + a] = left > 1e-12 * spread ? std::sqrt(left) : 0.0;
      } else if (root[b * dims + b] > 0) {
        root[a * dims + b] = left / root[b * dims + b];
      }
    }
  }
  return root;
}

std::vector<double> reference_points(const std::vector<double>& root, std::size_t dims, std::size_t n, Random random) {
  std::vector<double> out(n * dims, 0.0), z(dims);
  for (std::size_t i = 0; i < n; ++i) {
    for (double& v : z) v = random.normal();
    for (std::size_t a = 0; a < dims; ++a) {
      for (std::size_t b = 0; b <= a; ++b) out[i * dims + a] += root[a * dims + b] * z[b];
    }
  }
  return out;
}

/// Whether one group alone would hardly show such a silhouette.
bool stands_out(double silhouette, Span<const double> points, std::size_t dims, std::size_t max_k, std::uint64_t seed) {
  const auto root = covariance_root(points, dims);
  const std::size_t n = std::min(points.size() / dims, kReferencePoints);
  int reached = 0;
  for (std::uint64_t r = 0; r < kReferences && reached <= kReferencesThatMayReach; ++r) {
    const auto reference = reference_points(root, dims, n, Random(seed, kReferenceStream, r));
    if (best_division(reference, dims, max_k, seed, kReferenceRestarts).silhouette >= silhouette) ++reached;
  }
  return reached <= kReferencesThatMayReach;
}

}  // namespace

Clustering choose_clusters(Span<const double> points, std::size_t dims, std::size_t max_k, double min_silhouette,
                           std::uint64_t seed) {
  Clustering best = best_division(points, dims, max_k, seed, kRestarts);
  if (best.k > 1 && best.silhouette >= min_silhouette && stands_out(best.silhouette, points, dims, max_k, seed)) {
    return best;
  }
  return kmeans(points, dims, 1, seed, 1);
}

}  // namespace bdc
