#include "bdc/metrics/aggregation_ap.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>

#include "bdc/base/error.h"

namespace bdc {
namespace {

CocoBox to_coco(const Box& b) {
  return {b.x1, b.y1, b.width(), b.height()};
}

/// Images asked for, or else those the truth covers, or else all.
bool is_evaluated(const std::vector<char>& evaluated, const CrowdData& crowd, std::size_t image) {
  if (!evaluated.empty()) return evaluated[image] != 0;
  return crowd.truth_covers.empty() || crowd.truth_covers[image] != 0;
}

void check_flags(const std::vector<char>& evaluated, const CrowdData& crowd) {
  if (!evaluated.empty() && evaluated.size() != crowd.images.size()) {
    throw DataError("evaluation: " + std::to_string(crowd.images.size()) + " images, but " +
                    std::to_string(evaluated.size()) + " flags of which to evaluate");
  }
}

/// -1, 0, 1 for integers given by their decimal digits.
int compare_integers(const std::string& a, const std::string& b) {
  const bool minus_a = !a.empty() && a[0] == '-', minus_b = !b.empty() && b[0] == '-';
  if (minus_a != minus_b) return minus_a ? -1 : 1;
  int order = a.size() != b.size() ? (a.size() < b.size() ? -1 : 1) : a.compare(b);
  order = order < 0 ? -1 : (order > 0 ? 1 : 0);
  return minus_a ? -order : order;
}

bool id_less(const ExternalId& a, const ExternalId& b) {
  if (a.is_integer != b.is_integer) return a.is_integer;
  return a.is_integer ? compare_integers(a.text, b.text) < 0 : a.text < b.text;
}

}  // namespace

std::vector<std::int32_t> rank_by_id(const std::vector<ImageRecord>& images) {
  std::vector<std::int32_t> order(images.size()), rank(images.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return id_less(images[static_cast<std::size_t>(a)].id, images[static_cast<std::size_t>(b)].id);
  });
  for (std::size_t i = 0; i < order.size(); ++i)
    rank[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  return rank;
}

std::vector<CocoTruth> coco_truth(const CrowdData& crowd, const std::vector<char>& evaluated,
                                  const std::vector<std::array<double, 4>>* xywh) {
  check_flags(evaluated, crowd);
  const std::vector<std::int32_t> rank = rank_by_id(crowd.images);
  std::vector<CocoTruth> truth;
  truth.reserve(crowd.truth.size());
  for (std::size_t n = 0; n < crowd.truth.size(); ++n) {
    const TruthBox& t = crowd.truth[n];
    const auto image = static_cast<std::size_t>(t.image);
    if (!is_evaluated(evaluated, crowd, image)) continue;
    truth.push_back({to_coco(t.box), t.area, rank[image], t.label, t.is_crowd});
    if (xywh != nullptr) truth.back().box = {(*xywh)[n][0], (*xywh)[n][1], (*xywh)[n][2], (*xywh)[n][3]};
  }
  return truth;
}

std::vector<CocoDetection> coco_detections(const Targets& targets, const CrowdData& crowd,
                                           const std::vector<char>& evaluated) {
  check_flags(evaluated, crowd);
  if (targets.begin.size() != crowd.images.size() + 1) {
    throw DataError("evaluation: the targets are for " +
                    std::to_string(targets.begin.empty() ? 0 : targets.begin.size() - 1) + " images, the truth for " +
                    std::to_string(crowd.images.size()));
  }
  if (static_cast<std::size_t>(targets.num_classes) != crowd.classes.size()) {
    throw DataError("evaluation: the targets have " + std::to_string(targets.num_classes) + " classes, the truth " +
                    std::to_string(crowd.classes.size()));
  }
  const std::vector<std::int32_t> rank = rank_by_id(crowd.images);
  std::vector<CocoDetection> detections;
  detections.reserve(targets.box.size());
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    if (!is_evaluated(evaluated, crowd, i)) continue;
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) {
      detections.push_back({to_coco(targets.box[n]), targets.score[n], rank[i], targets.label(n)});
    }
  }
  return detections;
}

CocoEvalResult evaluate_targets(const Targets& targets, const CrowdData& crowd, const CocoEvalOptions& options,
                                const std::vector<char>& evaluated) {
  if (!crowd.has_truth) throw DataError("evaluation: the data set holds no truth; give a file that has it");
  return coco_evaluate(coco_detections(targets, crowd, evaluated), coco_truth(crowd, evaluated), crowd.images.size(),
                       crowd.classes.size(), options);
}

}  // namespace bdc
