#include "learn/bdc/absence_aware/image_targets.h"

#include <algorithm>
#include <cmath>

#include "bdc/base/random.h"

namespace bdc::absence_aware {
namespace {

/// The mean box. Its edges are estimated one by one, so those of a tiny, disputed box may cross: then the nominal size
/// around the centre is used. Clipped to the image unless nothing would be left.
Box consensus_box(const ImageItems& image, const Candidate& c, bool clip) {
  Box box{c.mean[0], c.mean[1], c.mean[2], c.mean[3]};
  const double x = (box.x1 + box.x2) / 2, y = (box.y1 + box.y2) / 2;
  if (!(box.x1 < box.x2)) {
    box.x1 = x - c.size[0] / 2;
    box.x2 = x + c.size[0] / 2;
  }
  if (!(box.y1 < box.y2)) {
    box.y1 = y - c.size[1] / 2;
    box.y2 = y + c.size[1] / 2;
  }
  if (!clip) return box;
  const Box inside{std::max(0.0, box.x1), std::max(0.0, box.y1), std::min(image.width, box.x2),
                   std::min(image.height, box.y2)};
  return inside.valid() ? inside : box;
}

constexpr std::size_t kDraws = 128;
/// Below this sum of deviations, in box sizes, hardly any draw falls short.
constexpr double kNeverMisses = 0.16;

const std::array<std::array<double, 4>, kDraws>& normal_draws() {
  static const auto table = [] {
    std::array<std::array<double, 4>, kDraws> out;
    Random random(1);
    for (auto& row : out) {
      for (double& z : row) z = random.normal();
    }
    return out;
  }();
  return table;
}

}  // namespace

double expected_iou(const Candidate& c) {
  const double width = std::max(c.size[0] / 4, c.mean[2] - c.mean[0]);
  const double height = std::max(c.size[1] / 4, c.mean[3] - c.mean[1]);
  const double loss = (std::sqrt(c.variance[0]) + std::sqrt(c.variance[2])) / width +
                      (std::sqrt(c.variance[1]) + std::sqrt(c.variance[3])) / height;
  return std::exp(-0.7978845608028654 * loss);
}

double located_share(const Candidate& c) {
  const Box mean{c.mean[0], c.mean[1], c.mean[2], c.mean[3]};
  if (!mean.valid()) return 0.5;
  std::array<double, 4> spread;
  double worst = 0;
  for (std::size_t e = 0; e < 4; ++e) {
    spread[e] = std::sqrt(c.variance[e]);
    worst += spread[e] / (e % 2 == 0 ? mean.width() : mean.height());
  }
  if (worst < kNeverMisses) return 1;
  std::size_t near = 0;
  for (const std::array<double, 4>& z : normal_draws()) {
    const Box box{mean.x1 + spread[0] * z[0], mean.y1 + spread[1] * z[1], mean.x2 + spread[2] * z[2],
                  mean.y2 + spread[3] * z[3]};
    near += box.valid() && iou(mean, box) >= kLocatedIou ? 1 : 0;
  }
  return static_cast<double>(near) / static_cast<double>(kDraws);
}

void append_targets(const ImageItems& image, const ImageState& state, double min_existence, bool clip, Targets& out) {
  if (out.begin.empty()) out.begin.push_back(0);
  for (const Candidate& c : state.candidates) {
    const double existence = c.existence * state.occupied;
    if (existence < min_existence) continue;
    out.box.push_back(consensus_box(image, c, clip));
    double sum = 0, best = 0;
    for (const float p : c.class_probs) sum += static_cast<double>(p);
    const auto J = static_cast<std::size_t>(out.num_classes), first = out.class_probs.size();
    const ClassSet classes = state.classes_of(c, J);
    out.class_probs.resize(first + J, 0.0);
    for (std::size_t u = 0; u < classes.size(); ++u) {
      const double p = static_cast<double>(c.class_probs[u]) / sum;
      out.class_probs[first + classes[u]] = p;
      best = std::max(best, p);
    }
    out.weight.push_back(existence);
    out.existence.push_back(existence);
    out.located.push_back(existence * located_share(c));
    out.score.push_back(existence * best * expected_iou(c));
    out.box_std.push_back(
        {std::sqrt(c.variance[0]), std::sqrt(c.variance[1]), std::sqrt(c.variance[2]), std::sqrt(c.variance[3])});
  }
  out.begin.push_back(out.box.size());
}

}  // namespace bdc::absence_aware
