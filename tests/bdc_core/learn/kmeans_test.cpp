#include "bdc/learn/kmeans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "bdc/base/random.h"

namespace bdc {
namespace {

/// `each` points around each of the centres, uniform in a square of edge 2 * spread.
std::vector<double> blobs(const std::vector<std::array<double, 2>>& centres, int each, double spread) {
  Random random(5);
  std::vector<double> out;
  for (const auto& c : centres) {
    for (int n = 0; n < each; ++n) {
      out.push_back(c[0] + random.uniform(-spread, spread));
      out.push_back(c[1] + random.uniform(-spread, spread));
    }
  }
  return out;
}

TEST(KMeans, ClearGroupsAreFoundAndNumberedByTheirFirstCoordinate) {
  const auto points = blobs({{0, 0}, {10, 0}, {5, 8}}, 20, 1);
  const Clustering c = kmeans(points, 2, 3);
  ASSERT_EQ(c.k, 3u);
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(c.cluster[i], i < 20 ? 2 : i < 40 ? 0 : 1) << i;
  EXPECT_GT(c.silhouette, 0.7);
}

TEST(KMeans, WithinIsTheSumOfSquaredDistancesToTheMeans) {
  const std::vector<double> points = {0, 2, 10, 14};
  const Clustering c = kmeans(points, 1, 2);
  EXPECT_DOUBLE_EQ(c.within, 1 + 1 + 4 + 4);
  EXPECT_DOUBLE_EQ(c.centre[0], 12);
  EXPECT_DOUBLE_EQ(c.centre[1], 1);
}

TEST(KMeans, SilhouetteIsThatOfTheDefinition) {
  const std::vector<double> points = {0, 2, 10, 14};
  const Clustering c = kmeans(points, 1, 2);
  // a, b of the four points: (2, 12), (2, 10), (4, 9), (4, 13)
  EXPECT_NEAR(c.silhouette, (10.0 / 12 + 8.0 / 10 + 5.0 / 9 + 9.0 / 13) / 4, 1e-12);
}

TEST(KMeans, SilhouetteOfVeryManyPointsIsNearThatOfAll) {
  const auto points = blobs({{0, 0}, {4, 0}}, 1500, 5);
  const Clustering c = kmeans(points, 2, 2, 1, 1);
  const std::size_t n = points.size() / 2;
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sum[2] = {0, 0}, count[2] = {0, 0};
    for (std::size_t j = 0; j < n; ++j) {
      sum[c.cluster[j]] += std::hypot(points[2 * i] - points[2 * j], points[2 * i + 1] - points[2 * j + 1]);
      count[c.cluster[j]] += 1;
    }
    const auto own = c.cluster[i];
    const double a = sum[own] / (count[own] - 1), b = sum[1 - own] / count[1 - own];
    total += (b - a) / std::max(a, b);
  }
  EXPECT_NEAR(c.silhouette, total / static_cast<double>(n), 0.02);
}

TEST(KMeans, TheNumberOfGroupsWithTheLargestSilhouetteIsChosen) {
  EXPECT_EQ(choose_clusters(blobs({{0, 0}, {10, 0}, {5, 8}, {20, 20}}, 15, 1), 2).k, 4u);
  EXPECT_EQ(choose_clusters(blobs({{0, 0}, {10, 0}}, 15, 1), 2).k, 2u);
}

TEST(KMeans, NoGroupsWhereNoneStandOut) {
  EXPECT_EQ(choose_clusters(blobs({{0, 0}}, 100, 1), 2, 8, 0.45).k, 1u);
  // One normal group of 6 to 60 points in 1 to 4 dimensions is seldom divided: a 5 % test, so 6 of 120 are expected
  // and 14 have a probability below 0.002.
  int divided = 0;
  for (std::uint64_t n = 0; n < 120; ++n) {
    Random random(11, 4, n);
    const std::size_t dims = 1 + n % 4, count = 6 + 18 * (n % 4);
    std::vector<double> points(count * dims);
    for (double& v : points) v = random.normal();
    divided += choose_clusters(points, dims, std::min<std::size_t>(8, count / 3)).k > 1 ? 1 : 0;
  }
  EXPECT_LT(divided, 14);
  EXPECT_EQ(choose_clusters(std::vector<double>{1, 1, 1, 1}, 1).k, 1u);
}

TEST(KMeans, MoreGroupsThanDistinctPointsAreNotInvented) {
  EXPECT_EQ(kmeans(std::vector<double>{1, 1, 2, 2}, 1, 3).k, 2u);
}

TEST(KMeans, TheSameSeedGivesTheSameBits) {
  const auto points = blobs({{0, 0}, {1, 1}}, 50, 1);
  const Clustering a = kmeans(points, 2, 4, 9), b = kmeans(points, 2, 4, 9);
  EXPECT_EQ(a.cluster, b.cluster);
  EXPECT_EQ(a.centre, b.centre);
}

TEST(KMeans, NonsenseIsRefused) {
  EXPECT_THROW((void)kmeans(std::vector<double>{}, 1, 2), std::invalid_argument);
  EXPECT_THROW((void)kmeans(std::vector<double>{1, 2, 3}, 2, 2), std::invalid_argument);
  EXPECT_THROW((void)kmeans(std::vector<double>{1, std::nan("")}, 1, 2), std::invalid_argument);
  EXPECT_THROW((void)kmeans(std::vector<double>{1, 2}, 1, 0), std::invalid_argument);
}

}  // namespace
}  // namespace bdc
