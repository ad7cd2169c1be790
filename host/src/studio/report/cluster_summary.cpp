#include "studio/report/cluster_summary.h"

#include <cmath>

#include "bdc/learn/annotator_figures.h"

namespace bdc::host {
namespace {

void add_member(const AnnotatorPosteriors& p, std::size_t k, ClusterSummary& out) {
  const std::size_t J = p.classes.size();
  out.annotators += 1;
  out.images += p.annotators[k].images;
  out.boxes += p.annotators[k].annotations;
  out.quality += annotator_quality(p, k);
  out.recall += p.mean_recall(k);
  out.spurious += p.mean_spurious_per_image(k);
  out.accuracy += p.accuracy(k);
  out.noise += box_noise(p, k);
  const BoxPosterior box = p.box(k);
  const auto precision = box.precision();
  for (std::size_t i = 0; i < 4; ++i) {
    out.box_mean[i] += box.mean[i];
    out.box_deviation[i] += 1 / precision[i] + box.mean[i] * box.mean[i];
  }
  for (std::size_t c = p.confusion.begin[k]; c < p.confusion.begin[k + 1]; ++c) {
    for (std::size_t j = 0; j < J; ++j) {
      out.counts[j * J + static_cast<std::size_t>(p.confusion.label[c])] += p.confusion.value[c * J + j];
    }
  }
}

void divide(ClusterSummary& out) {
  if (out.annotators == 0) return;
  const auto n = static_cast<double>(out.annotators);
  for (double* v : {&out.images, &out.boxes, &out.quality, &out.recall, &out.spurious, &out.accuracy, &out.noise})
    *v /= n;
  for (std::size_t i = 0; i < 4; ++i) {
    out.box_mean[i] /= n;
    out.box_deviation[i] = std::sqrt(std::max(0.0, out.box_deviation[i] / n - out.box_mean[i] * out.box_mean[i]));
  }
}

}  // namespace

std::vector<ClusterSummary> summarise_clusters(const AnnotatorPosteriors& posteriors,
                                               const AnnotatorClusters& clusters) {
  std::vector<ClusterSummary> out(clusters.k + 1);
  const std::size_t J = posteriors.classes.size();
  for (ClusterSummary& s : out) s.counts.assign(J * J, 0.0);
  for (std::size_t k = 0; k < posteriors.annotators.size(); ++k) {
    if (clusters.cluster[k] == AnnotatorClusters::none) continue;
    add_member(posteriors, k, out[static_cast<std::size_t>(clusters.cluster[k])]);
    add_member(posteriors, k, out.back());
  }
  for (ClusterSummary& s : out) divide(s);
  return out;
}

}  // namespace bdc::host
