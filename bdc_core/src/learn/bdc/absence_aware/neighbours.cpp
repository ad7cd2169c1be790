#include <algorithm>
#include <numeric>

#include "bdc/crowd/box.h"
#include "learn/bdc/absence_aware/partition.h"

namespace bdc::absence_aware {
namespace {

constexpr double kGate = 0.05;
constexpr std::size_t kMostNeighbours = 96;

Box box_of(const Item& item) {
  return {item.edge[0], item.edge[1], item.edge[2], item.edge[3]};
}

struct Overlap {
  double iou;
  std::int32_t item;
};

void keep_best(std::vector<Overlap>& list) {
  const auto better = [](const Overlap& a, const Overlap& b) {
    return a.iou != b.iou ? a.iou > b.iou : a.item < b.item;
  };
  std::sort(list.begin(), list.end(), better);
  if (list.size() > kMostNeighbours) list.resize(kMostNeighbours);
}

}  // namespace

void find_neighbours(const ImageItems& image, ImageState& state) {
  const std::size_t n = image.items.size();
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  const auto left = [&](std::int32_t i) { return image.items[static_cast<std::size_t>(i)].edge[0]; };
  std::sort(order.begin(), order.end(),
            [&](std::int32_t a, std::int32_t b) { return left(a) != left(b) ? left(a) < left(b) : a < b; });
  std::vector<std::vector<Overlap>> lists(n);
  for (std::size_t a = 0; a < n; ++a) {
    const Item& item = image.items[static_cast<std::size_t>(order[a])];
    const Box box = box_of(item);
    for (std::size_t b = a + 1; b < n && left(order[b]) < box.x2; ++b) {
      if (image.items[static_cast<std::size_t>(order[b])].source == item.source) continue;
      const double overlap = iou(box, box_of(image.items[static_cast<std::size_t>(order[b])]));
      if (overlap < kGate) continue;
      lists[static_cast<std::size_t>(order[a])].push_back({overlap, order[b]});
      lists[static_cast<std::size_t>(order[b])].push_back({overlap, order[a]});
    }
  }
  state.neighbour_begin.assign(n + 1, 0);
  state.neighbour.clear();
  for (std::size_t i = 0; i < n; ++i) {
    keep_best(lists[i]);
    for (const Overlap& o : lists[i]) state.neighbour.push_back(o.item);
    state.neighbour_begin[i + 1] = static_cast<std::int32_t>(state.neighbour.size());
  }
  state.neighbour.shrink_to_fit();
}

void forget_neighbours(ImageState& state) {
  state.neighbour_begin = {};
  state.neighbour = {};
}

}  // namespace bdc::absence_aware
