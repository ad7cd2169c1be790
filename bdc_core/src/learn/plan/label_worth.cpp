#include "bdc/learn/plan/label_worth.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bdc/base/random.h"

namespace bdc {
namespace {

constexpr std::size_t kSpreads = 256, kDraws = 512;
constexpr double kWidestSpread = 4;

/// By fixed draws of four edges.
double box_share(double spread) {
  Random random(1);
  double sum = 0;
  for (std::size_t n = 0; n < kDraws; ++n) {
    std::array<double, 4> edge{0, 0, 1, 1};
    for (double& x : edge) x += spread / 4 * random.normal();
    const Box box{edge[0], edge[1], edge[2], edge[3]};
    const double overlap = box.valid() ? iou({0, 0, 1, 1}, box) : 0;
    sum += overlap < 0.5 ? 0.0 : std::min(10.0, std::floor((overlap - 0.5) / 0.05 + 1 + 1e-9));
  }
  return sum / 10 / static_cast<double>(kDraws);
}

}  // namespace

double expected_box_share(double spread) {
  static const auto table = [] {
    std::array<double, kSpreads + 1> out{};
    for (std::size_t n = 0; n <= kSpreads; ++n) {
      out[n] = box_share(kWidestSpread * static_cast<double>(n) / static_cast<double>(kSpreads));
    }
    return out;
  }();
  if (!(spread > 0)) return table[0];
  const double at = spread / kWidestSpread * static_cast<double>(kSpreads);
  if (!(at < static_cast<double>(kSpreads))) return 0;
  const auto below = static_cast<std::size_t>(at);
  return table[below] + (at - static_cast<double>(below)) * (table[below + 1] - table[below]);
}

double box_spread(const Targets& targets, std::size_t n) {
  if (targets.box_std.empty()) return 0;
  const double width = targets.box[n].width(), height = targets.box[n].height();
  if (!(width > 0) || !(height > 0)) return kWidestSpread;
  const auto& deviation = targets.box_std[n];
  return (deviation[0] + deviation[2]) / width + (deviation[1] + deviation[3]) / height;
}

double existence_of(const Targets& targets, std::size_t n) {
  return std::clamp(targets.existence.empty() ? targets.weight[n] : targets.existence[n], 0.0, 1.0);
}

double right_of(const Targets& targets, std::size_t n) {
  const double top = targets.class_prob(n, static_cast<std::size_t>(targets.label(n)));
  return existence_of(targets, n) * top * expected_box_share(box_spread(targets, n));
}

}  // namespace bdc
