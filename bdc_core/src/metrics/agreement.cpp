#include "bdc/metrics/agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "bdc/base/error.h"
#include "bdc/base/parallel.h"
#include "bdc/crowd/geometry.h"
#include "bdc/crowd/grouping.h"
#include "metrics/image_groups.h"

namespace bdc {
namespace {

constexpr std::size_t kImagesPerChunk = 256;

/// What a chunk of images contributes.
struct Part {
  std::vector<std::int32_t> values;  ///< classes, group by group
  std::vector<std::size_t> sizes;    ///< of the groups
  double iou_sum = 0;
  std::size_t pairs = 0, shared = 0;
  /// (annotator, IoU or -1, same class) per annotation of the chunk.
  std::vector<std::tuple<std::int32_t, double, bool>> ties;
};

void group_image(const CrowdData& crowd, std::size_t image, double group_iou, Part& part) {
  const std::size_t first = crowd.annotation_begin[image];
  std::vector<Box> boxes;
  const Groups groups = groups_of_image(crowd, image, group_iou, boxes);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto members = groups[g];
    for (std::size_t m = 0; m < members.size(); ++m) {
      const auto a = static_cast<std::size_t>(members[m]);
      part.values.push_back(crowd.annotations[first + a].label);
      for (std::size_t other = 0; other < m; ++other) {
        part.iou_sum += iou(boxes[a], boxes[static_cast<std::size_t>(members[other])]);
        ++part.pairs;
      }
    }
    part.sizes.push_back(members.size());
    part.shared += members.size() > 1;
  }
}

void tie_to_consensus(const CrowdData& crowd, const Targets& targets, std::size_t image, double match_iou, Part& part) {
  const std::size_t first = crowd.annotation_begin[image], end = crowd.annotation_begin[image + 1];
  const std::size_t target_first = targets.begin[image], target_end = targets.begin[image + 1];
  struct Pair {
    double iou;
    std::size_t annotation, target;
  };
  // Annotations of one annotator at a time; each target is tied to at most one of them.
  std::vector<std::size_t> order;
  for (std::size_t a = first; a < end; ++a) order.push_back(a);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return crowd.annotations[a].annotator < crowd.annotations[b].annotator;
  });
  std::vector<Pair> pairs;
  std::vector<char> taken(target_end - target_first), tied(end - first);
  for (std::size_t begin = 0; begin < order.size();) {
    const std::int32_t annotator = crowd.annotations[order[begin]].annotator;
    std::size_t stop = begin;
    pairs.clear();
    for (; stop < order.size() && crowd.annotations[order[stop]].annotator == annotator; ++stop) {
      for (std::size_t t = target_first; t < target_end; ++t) {
        const double value = iou(crowd.annotations[order[stop]].box, targets.box[t]);
        if (value >= match_iou) pairs.push_back({value, order[stop], t});
      }
    }
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.iou > b.iou; });
    std::fill(taken.begin(), taken.end(), 0);
    for (const Pair& pair : pairs) {
      if (taken[pair.target - target_first] || tied[pair.annotation - first]) continue;
      taken[pair.target - target_first] = tied[pair.annotation - first] = 1;
      part.ties.emplace_back(annotator, pair.iou,
                             targets.label(pair.target) == crowd.annotations[pair.annotation].label);
    }
    begin = stop;
  }
  for (std::size_t a = first; a < end; ++a) {
    if (!tied[a - first]) part.ties.emplace_back(crowd.annotations[a].annotator, -1, false);
  }
}

}  // namespace

double krippendorff_alpha(Span<const std::int32_t> values, Span<const std::size_t> begin, std::size_t num_classes) {
  const std::size_t units = begin.empty() ? 0 : begin.size() - 1;
  std::vector<double> total(num_classes, 0.0);  // pairable values of each class
  double n = 0, observed_agreement = 0;         // sum over units of same-class pairs / (m - 1)
  std::vector<std::int32_t> sorted;
  for (std::size_t u = 0; u < units; ++u) {
    const std::size_t m = begin[u + 1] - begin[u];
    if (m < 2) continue;
    sorted.assign(values.begin() + begin[u], values.begin() + begin[u + 1]);
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < m;) {
      std::size_t j = i;
      while (j < m && sorted[j] == sorted[i]) ++j;
      const double count = static_cast<double>(j - i);
      total[static_cast<std::size_t>(sorted[i])] += count;
      observed_agreement += count * (count - 1) / static_cast<double>(m - 1);
      i = j;
    }
    n += static_cast<double>(m);
  }
  double expected_agreement = 0;  // times n - 1
  for (const double count : total) expected_agreement += count * (count - 1);
  const double expected_disagreement = n * (n - 1) - expected_agreement;
  if (!(expected_disagreement > 0)) return std::numeric_limits<double>::quiet_NaN();
  return 1 - (n - 1) * (n - observed_agreement) / expected_disagreement;
}

Agreement measure_agreement(const CrowdData& crowd, const Targets* consensus, double group_iou, double match_iou,
                            int threads) {
  const std::size_t images = crowd.images.size();
  if (consensus != nullptr && (consensus->begin.size() != images + 1 ||
                               static_cast<std::size_t>(consensus->num_classes) != crowd.classes.size())) {
    throw DataError("agreement: the consensus is not of these images and classes");
  }
  std::vector<Part> parts(images / kImagesPerChunk + 1);
  parallel_chunks(images, kImagesPerChunk, threads, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    for (std::size_t i = begin; i < end; ++i) {
      group_image(crowd, i, group_iou, parts[chunk]);
      if (consensus != nullptr) tie_to_consensus(crowd, *consensus, i, match_iou, parts[chunk]);
    }
  });

  Agreement result;
  std::vector<std::int32_t> values;
  std::vector<std::size_t> begin{0};
  double iou_sum = 0;
  std::size_t pairs = 0;
  if (consensus != nullptr) result.annotators.resize(crowd.annotators.size());
  for (const Part& part : parts) {
    values.insert(values.end(), part.values.begin(), part.values.end());
    for (const std::size_t size : part.sizes) begin.push_back(begin.back() + size);
    iou_sum += part.iou_sum;
    pairs += part.pairs;
    result.shared_groups += part.shared;
    for (const auto& [annotator, overlap, same] : part.ties) {
      AnnotatorAgreement& a = result.annotators[static_cast<std::size_t>(annotator)];
      ++a.annotations;
      if (overlap < 0) continue;
      ++a.matched;
      a.same_class += same;
      a.mean_iou += overlap;
    }
  }
  for (AnnotatorAgreement& a : result.annotators) {
    if (a.matched > 0) a.mean_iou /= static_cast<double>(a.matched);
  }
  if (consensus != nullptr) {
    for (const Assignment& a : crowd.assignments) {
      const auto image = static_cast<std::size_t>(a.image);
      result.annotators[static_cast<std::size_t>(a.annotator)].targets_seen +=
          consensus->begin[image + 1] - consensus->begin[image];
    }
  }
  result.groups = begin.size() - 1;
  result.class_alpha = krippendorff_alpha(values, begin, crowd.classes.size());
  result.mean_pairwise_iou =
      pairs == 0 ? std::numeric_limits<double>::quiet_NaN() : iou_sum / static_cast<double>(pairs);
  return result;
}

}  // namespace bdc
