#include "bdc/metrics/disagreement.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "bdc/base/parallel.h"
#include "bdc/crowd/grouping.h"
#include "crowd/image_scale.h"

namespace bdc {
namespace {

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Box median_box(Span<const std::int32_t> members, const std::vector<Box>& boxes) {
  std::vector<double> edge[4];
  for (const auto m : members) {
    const Box& b = boxes[static_cast<std::size_t>(m)];
    edge[0].push_back(b.x1), edge[1].push_back(b.y1), edge[2].push_back(b.x2), edge[3].push_back(b.y2);
  }
  return {median_of(edge[0]), median_of(edge[1]), median_of(edge[2]), median_of(edge[3])};
}

double of_image(const CrowdData& crowd, std::size_t image, double group_iou) {
  const auto lookers = static_cast<double>(crowd.assignment_begin[image + 1] - crowd.assignment_begin[image]);
  if (lookers < 2) return 0;
  std::vector<Box> boxes;
  std::vector<std::int32_t> annotators, labels;
  const ImageScale scale = image_scale(crowd, image);
  for (std::size_t n = crowd.annotation_begin[image]; n < crowd.annotation_begin[image + 1]; ++n) {
    const Annotation& a = crowd.annotations[n];
    if (!a.box.valid()) continue;
    boxes.push_back(normalised(a.box, scale));
    annotators.push_back(a.annotator);
    labels.push_back(a.label);
  }
  if (boxes.empty()) return 0;
  Groups groups;
  group_by_best_overlap(boxes, annotators, group_iou, groups);
  const double pairs = lookers * (lookers - 1);
  double agreed = 0, drawn = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto members = groups[g];
    const Box middle = median_box(members, boxes);
    std::map<std::int32_t, double> of_class;
    double overlap = 0;
    for (const auto m : members) {
      of_class[labels[static_cast<std::size_t>(m)]] += 1;
      overlap += iou(boxes[static_cast<std::size_t>(m)], middle);
    }
    const auto drew = static_cast<double>(members.size());
    double same = 0;
    for (const auto& [label, count] : of_class) same += count * (count - 1);
    agreed += same / pairs * overlap / drew;
    drawn += 1 - std::max(0.0, lookers - drew) * std::max(0.0, lookers - drew - 1) / pairs;
  }
  return std::clamp(1 - agreed / drawn, 0.0, 1.0);
}

}  // namespace

std::vector<double> image_disagreement(const CrowdData& crowd, double group_iou, int threads) {
  std::vector<double> out(crowd.images.size(), 0.0);
  parallel_chunks(out.size(), 32, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) out[i] = of_image(crowd, i, group_iou);
  });
  return out;
}

}  // namespace bdc
