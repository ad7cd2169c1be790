#pragma once

#include <cstddef>
#include <vector>

#include "bdc/learn/annotator_posteriors.h"
#include "bdc/learn/kmeans.h"

namespace bdc {

/// What annotators are told apart by: logit of the recall, log of spurious boxes per image (both only where the profile
/// has them), logit of the class accuracy (only with two or more classes) and log of the box noise. Every column is
/// centred, divided by its spread over annotators and multiplied by its reliability, 1 - (mean posterior variance) /
/// (variance over annotators), at least 0: what the data say little about counts little.
struct AnnotatorFeatures {
  std::vector<std::size_t> annotator;  ///< indices of the annotators whose quality is determined, ascending
  std::size_t dims = 0;
  std::vector<double> value;  ///< annotators x dims
};
[[nodiscard]] AnnotatorFeatures annotator_features(const AnnotatorPosteriors& posteriors);

/// Groups of annotators that err alike.
struct AnnotatorClusters {
  static constexpr std::int32_t none = -1;
  std::size_t k = 0;
  std::size_t asked = 0;              ///< the k that was asked for; 0: chosen
  std::vector<std::int32_t> cluster;  ///< one per annotator; none: undetermined. Groups: best mean quality first
  double silhouette = 0;
};

/// k-means on annotator_features. k = 0: the k of the largest mean silhouette (choose_clusters), at most 8 and at most
/// a third of the annotators.
[[nodiscard]] AnnotatorClusters cluster_annotators(const AnnotatorPosteriors& posteriors, std::size_t k = 0);

}  // namespace bdc
