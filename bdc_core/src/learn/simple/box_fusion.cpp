#include "bdc/learn/simple/box_fusion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bdc {
namespace {

/// A box on its way through fusion.
struct Candidate {
  Box box;
  double score = 0;   ///< score * weight
  double weight = 0;  ///< of its model
  std::int32_t label = 0, model = 0;
};

/// Corners in order and inside [0, 1]; false when nothing is left.
bool clean(Box& b) {
  if (b.x2 < b.x1) std::swap(b.x1, b.x2);
  if (b.y2 < b.y1) std::swap(b.y1, b.y2);
  const auto clip = [](double v) { return std::min(1.0, std::max(0.0, v)); };
  b = {clip(b.x1), clip(b.y1), clip(b.x2), clip(b.y2)};
  return b.area() > 0;
}

/// Largest key first; of equal keys the later row.
template <class Row, class Key>
void sort_descending(std::vector<Row>& rows, Key key) {
  std::reverse(rows.begin(), rows.end());
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return key(a) > key(b); });
}

/// Rows of one label each, in the given order of labels, best first.
std::vector<std::vector<Candidate>> candidates_by_label(Span<const FusionBox> boxes, const ModelWeights& weights,
                                                        double weight_scale, double skip_below) {
  std::vector<std::vector<Candidate>> groups;
  for (const FusionBox& b : boxes) {
    if (b.score < skip_below) continue;
    Candidate c{b.box, 0, weights.of(b.model) * weight_scale, b.label, b.model};
    c.score = b.score * c.weight;
    if (!clean(c.box)) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g[0].label == c.label; });
    if (group == groups.end()) group = groups.insert(groups.end(), std::vector<Candidate>{});
    group->push_back(c);
  }
  for (auto& group : groups) sort_descending(group, [](const Candidate& c) { return c.score; });
  return groups;
}

/// Index of the box that overlaps most, the first among equals; -1 when none overlaps by more than the threshold.
template <class Boxes>
std::ptrdiff_t best_overlap(const Boxes& boxes, const Box& box, double threshold) {
  std::ptrdiff_t best = -1;
  double best_iou = threshold;
  for (std::size_t n = 0; n < boxes.size(); ++n) {
    const double value = iou(boxes[n], box);
    if (value > best_iou) {
      best_iou = value;
      best = static_cast<std::ptrdiff_t>(n);
    }
  }
  return best;
}

struct Cluster {
  std::vector<std::int32_t> models;
  Box weighted_sum;  ///< sum of score * corner
  Box plain_sum;     ///< sum of corners, for clusters whose scores are all 0
  double score_sum = 0, weight_sum = 0, best = 0;
  double count = 0;

  void add(const Candidate& c) {
    const auto plus = [](const Box& a, const Box& b, double f) {
      return Box{a.x1 + f * b.x1, a.y1 + f * b.y1, a.x2 + f * b.x2, a.y2 + f * b.y2};
    };
    weighted_sum = plus(weighted_sum, c.box, c.score);
    plain_sum = plus(plain_sum, c.box, 1);
    score_sum += c.score;
    weight_sum += c.weight;
    best = std::max(best, c.score);
    count += 1;
    models.push_back(c.model);
  }
  [[nodiscard]] Box mean() const {
    const bool weighted = score_sum > 0;
    const Box& sum = weighted ? weighted_sum : plain_sum;
    const double by = weighted ? score_sum : count;
    return {sum.x1 / by, sum.y1 / by, sum.x2 / by, sum.y2 / by};
  }
};

double cluster_score(Cluster& cluster, const ModelWeights& weights, ClusterScore rule) {
  const double mean = cluster.score_sum / cluster.count, total = weights.sum();
  double inside = 0;  // weights of the distinct models in the cluster
  if (rule == ClusterScore::kBoxAndModel || rule == ClusterScore::kAbsentModelAware) {
    std::sort(cluster.models.begin(), cluster.models.end());
    cluster.models.erase(std::unique(cluster.models.begin(), cluster.models.end()), cluster.models.end());
    for (const std::int32_t model : cluster.models) inside += weights.of(model);
  }
  switch (rule) {
    case ClusterScore::kAverage:
      return mean * std::min(static_cast<double>(weights.models), cluster.count) / total;
    case ClusterScore::kAverageOverflow:
      return mean * cluster.count / total;
    case ClusterScore::kMaximum:
      return cluster.best / weights.largest();
    case ClusterScore::kBoxAndModel:
      return mean * cluster.count / cluster.weight_sum * inside / total;
    case ClusterScore::kAbsentModelAware:
      return mean * cluster.count / (cluster.weight_sum + (total - inside));
  }
  return 0;
}

/// Scored boxes of one label each, labels ascending, in the order they came.
std::vector<std::vector<FusedBox>> suppression_input(Span<const FusionBox> boxes, const ModelWeights* weights) {
  std::vector<FusedBox> rows;
  const double total = weights != nullptr ? weights->sum() : 1;
  for (const FusionBox& b : boxes) {
    FusedBox row{b.box, weights != nullptr ? b.score * weights->of(b.model) / total : b.score, b.label};
    if (clean(row.box)) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const FusedBox& a, const FusedBox& b) { return a.label < b.label; });
  std::vector<std::vector<FusedBox>> groups;
  for (const FusedBox& row : rows) {
    if (groups.empty() || groups.back()[0].label != row.label) groups.emplace_back();
    groups.back().push_back(row);
  }
  return groups;
}

}  // namespace

double ModelWeights::sum() const {
  return weight.empty() ? static_cast<double>(models) : std::accumulate(weight.begin(), weight.end(), 0.0);
}

double ModelWeights::largest() const {
  return weight.empty() ? 1.0 : *std::max_element(weight.begin(), weight.end());
}

std::vector<FusedBox> weighted_boxes_fusion(Span<const FusionBox> boxes, const ModelWeights& weights,
                                            double iou_threshold, double skip_below, ClusterScore rule) {
  std::vector<FusedBox> out;
  for (const auto& group : candidates_by_label(boxes, weights, 1, skip_below)) {
    std::vector<Cluster> clusters;
    std::vector<Box> fused;
    for (const Candidate& c : group) {
      const std::ptrdiff_t best = best_overlap(fused, c.box, iou_threshold);
      if (best < 0) {
        clusters.emplace_back();
        clusters.back().add(c);
        fused.push_back(c.box);
      } else {
        const auto n = static_cast<std::size_t>(best);
        clusters[n].add(c);
        fused[n] = clusters[n].mean();
      }
    }
    for (std::size_t n = 0; n < clusters.size(); ++n) {
      out.push_back({fused[n], cluster_score(clusters[n], weights, rule), group[0].label});
    }
  }
  sort_descending(out, [](const FusedBox& b) { return b.score; });
  return out;
}

std::vector<FusedBox> non_maximum_weighted(Span<const FusionBox> boxes, const ModelWeights& weights,
                                           double iou_threshold, double skip_below) {
  struct Best {
    Box sum;
    double by = 0, score = 0;
  };
  std::vector<FusedBox> out;
  for (const auto& group : candidates_by_label(boxes, weights, 1 / weights.largest(), skip_below)) {
    std::vector<Box> first;
    std::vector<Best> clusters;
    for (const Candidate& c : group) {
      std::ptrdiff_t best = best_overlap(first, c.box, iou_threshold);
      if (best < 0) {
        best = static_cast<std::ptrdiff_t>(first.size());
        first.push_back(c.box);
        clusters.push_back({{}, 0, c.score});
      }
      Best& cluster = clusters[static_cast<std::size_t>(best)];
      const double w = c.score * iou(c.box, first[static_cast<std::size_t>(best)]);
      cluster.sum = {cluster.sum.x1 + w * c.box.x1, cluster.sum.y1 + w * c.box.y1, cluster.sum.x2 + w * c.box.x2,
                     cluster.sum.y2 + w * c.box.y2};
      cluster.by += w;
    }
    for (std::size_t n = 0; n < clusters.size(); ++n) {
      const Best& c = clusters[n];
      const Box box = c.by > 0 ? Box{c.sum.x1 / c.by, c.sum.y1 / c.by, c.sum.x2 / c.by, c.sum.y2 / c.by} : first[n];
      out.push_back({box, c.score, group[0].label});
    }
  }
  sort_descending(out, [](const FusedBox& b) { return b.score; });
  return out;
}

std::vector<FusedBox> non_maximum_suppression(Span<const FusionBox> boxes, const ModelWeights* weights,
                                              double iou_threshold) {
  std::vector<FusedBox> out;
  for (auto& group : suppression_input(boxes, weights)) {
    sort_descending(group, [](const FusedBox& b) { return b.score; });
    std::vector<char> dropped(group.size(), 0);
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (dropped[i]) continue;
      out.push_back(group[i]);
      for (std::size_t j = i + 1; j < group.size(); ++j) {
        if (!dropped[j] && iou(group[i].box, group[j].box) > iou_threshold) dropped[j] = 1;
      }
    }
  }
  return out;
}

std::vector<FusedBox> soft_non_maximum_suppression(Span<const FusionBox> boxes, const ModelWeights* weights,
                                                   Decay decay, double iou_threshold, double sigma, double threshold) {
  std::vector<FusedBox> out;
  for (auto& group : suppression_input(boxes, weights)) {
    std::vector<double> decayed;
    for (const FusedBox& b : group) decayed.push_back(b.score);
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto rest = decayed.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      const auto best = std::max_element(rest, decayed.end());
      if (best != decayed.end() && decayed[i] < *best) {
        const auto n = static_cast<std::size_t>(best - decayed.begin());
        std::swap(group[i], group[n]);
        std::swap(decayed[i], decayed[n]);
      }
      for (std::size_t j = i + 1; j < group.size(); ++j) {
        const double overlap = iou(group[i].box, group[j].box);
        if (decay == Decay::kGaussian) {
          decayed[j] *= std::exp(-(overlap * overlap) / sigma);
        } else if (overlap > iou_threshold) {
          decayed[j] *= 1 - overlap;
        }
      }
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (decayed[i] > threshold) out.push_back(group[i]);
    }
  }
  return out;
}

std::vector<EarlBox> earl(Span<const FusionBox> boxes, std::size_t annotators, Span<const double> annotator_weights,
                          double iou_threshold) {
  double largest_x = 0, largest_y = 0;
  for (const FusionBox& b : boxes) {
    largest_x = std::max({largest_x, b.box.x1, b.box.x2});
    largest_y = std::max({largest_y, b.box.y1, b.box.y2});
  }
  if (!(largest_x > 0)) largest_x = 1;
  if (!(largest_y > 0)) largest_y = 1;
  std::vector<FusionBox> normalised(boxes.begin(), boxes.end());
  std::stable_sort(normalised.begin(), normalised.end(),
                   [](const FusionBox& a, const FusionBox& b) { return a.model < b.model; });
  for (FusionBox& b : normalised) {
    b.box = {b.box.x1 / largest_x, b.box.y1 / largest_y, b.box.x2 / largest_x, b.box.y2 / largest_y};
    b.score = 1;
  }
  std::vector<EarlBox> out;
  for (FusedBox& fused :
       weighted_boxes_fusion(normalised, {annotators, annotator_weights}, iou_threshold, 0, ClusterScore::kAverage)) {
    fused.box = {fused.box.x1 * largest_x, fused.box.y1 * largest_y, fused.box.x2 * largest_x,
                 fused.box.y2 * largest_y};
    const double scaled = fused.score * static_cast<double>(annotators);
    out.push_back({fused, scaled, static_cast<int>(scaled)});
  }
  return out;
}

std::vector<double> weights_from_ranges(const std::vector<std::pair<int, double>>& ranges, std::size_t annotators) {
  std::vector<double> weights(annotators, 1.0);
  std::size_t k = 0;
  for (const auto& [end, weight] : ranges) {
    for (; k < annotators && static_cast<int>(k) < end; ++k) weights[k] = weight;
  }
  return weights;
}

}  // namespace bdc
