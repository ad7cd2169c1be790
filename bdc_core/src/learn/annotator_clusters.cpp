#include "bdc/learn/annotator_clusters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bdc/learn/annotator_figures.h"

namespace bdc {
namespace {

/// One number of one annotator, and how sure it is.
struct Estimate {
  double value = 0, variance = 0;
};

// The delta method: variance of a logit is 1/a + 1/b for Beta(a, b), of a log 1/shape for a Gamma.
Estimate logit(double a, double b) {
  a = std::max(a, 1e-3);
  b = std::max(b, 1e-3);
  return {std::log(a / b), 1 / a + 1 / b};
}

Estimate recall(const AnnotatorPosteriors& p, std::size_t k) {
  const AnnotatorEvidence& e = p.annotators[k];
  return logit(p.recall_prior.a + e.found, p.recall_prior.b + e.missed);
}

Estimate spurious(const AnnotatorPosteriors& p, std::size_t k) {
  return {std::log(p.mean_spurious_per_image(k)), 1 / (p.spurious_prior.shape + p.annotators[k].spurious)};
}

Estimate accuracy(const AnnotatorPosteriors& p, std::size_t k) {
  double boxes = 0;
  for (std::size_t c = p.confusion.begin[k] * p.classes.size(); c < p.confusion.begin[k + 1] * p.classes.size(); ++c) {
    boxes += p.confusion.value[c];
  }
  const double right = p.accuracy(k), count = boxes + p.confusion_prior.diagonal;
  return logit(right * count, (1 - right) * count);
}

Estimate noise(const AnnotatorPosteriors& p, std::size_t k) {
  // log of a Gamma's rate over shape has variance 1/shape, its half a quarter of that; four coordinates.
  return {std::log(box_noise(p, k)), 1 / (16 * p.box(k).upsilon)};
}

}  // namespace

AnnotatorFeatures annotator_features(const AnnotatorPosteriors& posteriors) {
  std::vector<Estimate (*)(const AnnotatorPosteriors&, std::size_t)> columns;
  if (posteriors.tells_recall()) columns = {recall, spurious};
  if (posteriors.tells_classes()) columns.push_back(accuracy);
  columns.push_back(noise);
  AnnotatorFeatures out;
  out.dims = columns.size();
  for (std::size_t k = 0; k < posteriors.annotators.size(); ++k) {
    if (quality_figure(posteriors, k).determined) out.annotator.push_back(k);
  }
  const std::size_t n = out.annotator.size();
  out.value.resize(n * out.dims);
  for (std::size_t d = 0; d < out.dims && n > 0; ++d) {
    double sum = 0, squares = 0, unsure = 0;
    std::vector<double> value(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Estimate e = columns[d](posteriors, out.annotator[i]);
      value[i] = e.value;
      sum += e.value;
      unsure += e.variance;
    }
    const auto count = static_cast<double>(n);
    for (const double v : value) squares += (v - sum / count) * (v - sum / count);
    const double variance = squares / count, reliability = std::max(0.0, 1 - unsure / std::max(squares, 1e-300));
    for (std::size_t i = 0; i < n; ++i) {
      out.value[i * out.dims + d] =
          variance > 1e-24 ? (value[i] - sum / count) / std::sqrt(variance) * reliability : 0.0;
    }
  }
  return out;
}

AnnotatorClusters cluster_annotators(const AnnotatorPosteriors& posteriors, std::size_t k) {
  AnnotatorClusters out;
  out.cluster.assign(posteriors.annotators.size(), AnnotatorClusters::none);
  const AnnotatorFeatures features = annotator_features(posteriors);
  if (features.annotator.empty()) return out;
  // Groups of three at least, on average: with less, chance decides.
  const std::size_t most = std::min<std::size_t>(8, features.annotator.size() / 3);
  const Clustering groups =
      k == 0 ? choose_clusters(features.value, features.dims, most) : kmeans(features.value, features.dims, k);
  std::vector<double> quality(groups.k, 0.0), count(groups.k, 0.0);
  for (std::size_t i = 0; i < features.annotator.size(); ++i) {
    const auto g = static_cast<std::size_t>(groups.cluster[i]);
    quality[g] += annotator_quality(posteriors, features.annotator[i]);
    count[g] += 1;
  }
  std::vector<std::size_t> order(groups.k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return quality[a] / count[a] > quality[b] / count[b]; });
  std::vector<std::int32_t> rank(groups.k);
  for (std::size_t r = 0; r < groups.k; ++r) rank[order[r]] = static_cast<std::int32_t>(r);
  for (std::size_t i = 0; i < features.annotator.size(); ++i) {
    out.cluster[features.annotator[i]] = rank[static_cast<std::size_t>(groups.cluster[i])];
  }
  out.k = groups.k;
  out.asked = k;
  out.silhouette = groups.silhouette;
  return out;
}

}  // namespace bdc
