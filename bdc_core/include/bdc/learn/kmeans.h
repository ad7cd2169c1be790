#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bdc/base/span.h"

namespace bdc {

/// A division of n points into k groups. Groups are numbered by the first coordinate of their centres, largest first.
struct Clustering {
  std::size_t k = 0, dims = 0;
  std::vector<std::int32_t> cluster;  ///< n, 0 .. k-1
  std::vector<double> centre;         ///< k x dims
  double within = 0;                  ///< sum of squared distances of the points to their centres
  double silhouette = 0;              ///< mean_silhouette of the division
};

/// Lloyd's k-means from `restarts` k-means++ starts; the one with the least `within` is kept. points: n x dims,
/// row-major. The same seed gives the same bits. k is lowered to the number of distinct points.
/// Throws std::invalid_argument unless k >= 1, dims >= 1, there is a point, and every number is finite.
[[nodiscard]] Clustering kmeans(Span<const double> points, std::size_t dims, std::size_t k, std::uint64_t seed = 1,
                                int restarts = 20);

/// Mean over the points of (b - a) / max(a, b): a is the mean distance to the others of the own group, b the mean
/// distance to the nearest other group; 0 for a point alone in its group. Near 1: groups far apart; 0 for one group.
/// Of more than 1,000 points a sample of 1,000 is looked at.
[[nodiscard]] double mean_silhouette(Span<const double> points, std::size_t dims, const Clustering& clustering);

/// kmeans for k = 2 .. max_k, and the one with the largest mean silhouette (of equal ones the smallest k). A single
/// group unless that silhouette reaches min_silhouette and stands out: of 39 sets of points drawn from one normal
/// distribution with the points' covariance, at most one may reach as much with its own best k (a 5 % test).
[[nodiscard]] Clustering choose_clusters(Span<const double> points, std::size_t dims, std::size_t max_k = 8,
                                         double min_silhouette = 0.25, std::uint64_t seed = 1);

}  // namespace bdc
