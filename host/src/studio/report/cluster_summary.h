#pragma once

#include <array>
#include <vector>

#include "bdc/learn/annotator_clusters.h"

namespace bdc::host {

/// One group of annotators, or all of them.
struct ClusterSummary {
  std::size_t annotators = 0;
  double images = 0, boxes = 0;                                           ///< means per annotator
  double quality = 0, recall = 0, spurious = 0, accuracy = 0, noise = 0;  ///< means over annotators
  /// Box errors of the members' mixture: its mean, and its deviation (spread of the means included).
  std::array<double, 4> box_mean{}, box_deviation{};
  std::vector<double> counts;  ///< J x J, sums of the members' expected confusion counts; row: true class
};

/// One per group, and the last over all annotators that are in a group.
[[nodiscard]] std::vector<ClusterSummary> summarise_clusters(const AnnotatorPosteriors& posteriors,
                                                             const AnnotatorClusters& clusters);

}  // namespace bdc::host
