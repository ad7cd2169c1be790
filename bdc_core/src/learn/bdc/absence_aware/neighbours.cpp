#include <algorithm>
#include <array>
#include <numeric>

#include "base/wide.h"
#include "bdc/crowd/box.h"
#include "learn/bdc/absence_aware/partition.h"

namespace bdc::absence_aware {
namespace {

constexpr double kGate = 0.05;
constexpr std::size_t kMostNeighbours = 96;
/// A list is cut to the best before it grows longer than this.
constexpr std::size_t kLongestList = 256;
/// Lists of an image with more items are given back to the system.
constexpr std::size_t kManyItems = 4096;

struct Overlap {
  double iou;
  std::int32_t item;
};

/// The image's boxes by their left edges, each coordinate by itself.
struct SortedBoxes {
  std::vector<std::int32_t> order;
  std::vector<double> x1, y1, x2, y2, area;
  std::vector<double> iou;                  ///< of one box with those after it
  std::vector<std::vector<Overlap>> lists;  ///< per item
  std::vector<Overlap> sorted;

  void set(const ImageItems& image) {
    const std::size_t n = image.items.size();
    order.resize(n);
    std::iota(order.begin(), order.end(), 0);
    const auto left = [&](std::int32_t i) { return image.items[static_cast<std::size_t>(i)].edge[0]; };
    std::sort(order.begin(), order.end(),
              [&](std::int32_t a, std::int32_t b) { return left(a) != left(b) ? left(a) < left(b) : a < b; });
    for (std::vector<double>* numbers : {&x1, &y1, &x2, &y2, &area, &iou}) numbers->resize(n);
    for (std::size_t a = 0; a < n; ++a) {
      const auto& edge = image.items[static_cast<std::size_t>(order[a])].edge;
      x1[a] = edge[0], y1[a] = edge[1], x2[a] = edge[2], y2[a] = edge[3];
      area[a] = Box{edge[0], edge[1], edge[2], edge[3]}.area();
    }
    if (lists.size() < n) lists.resize(n);
  }
};

/// Intersection over union of box a with the boxes first to last - 1, which begin further right and before its end.
BDC_WIDE void overlaps(const SortedBoxes& boxes, std::size_t a, std::size_t first, std::size_t last, double* out) {
  const double right = boxes.x2[a], top = boxes.y1[a], bottom = boxes.y2[a], own = boxes.area[a];
  const double *x1 = boxes.x1.data(), *y1 = boxes.y1.data(), *x2 = boxes.x2.data(), *y2 = boxes.y2.data();
  const double* area = boxes.area.data();
  for (std::size_t b = first; b < last; ++b) {
    const double w = (x2[b] < right ? x2[b] : right) - x1[b];
    const double low = y1[b] > top ? y1[b] : top, high = y2[b] < bottom ? y2[b] : bottom;
    const double h = high > low ? high - low : 0.0;
    out[b] = w * h / (own + area[b] - w * h);
  }
}

/// How many of the keys are larger than each.
BDC_WIDE void count_larger(const std::int32_t* key, std::int32_t n, std::int32_t* larger) {
  for (std::int32_t i = 0; i < n; ++i) {
    std::int32_t count = 0;
    for (std::int32_t j = 0; j < n; ++j) count += key[j] > key[i] ? 1 : 0;
    larger[i] = count;
  }
}

/// Sorts a list, the best first, and cuts it to the longest that is kept. Overlaps that agree to seven digits are taken
/// as equal: the one that lies further left comes first.
void keep_best(std::vector<Overlap>& list, std::vector<Overlap>& sorted) {
  static_assert(kLongestList <= 256, "a place takes eight bits of a key");
  constexpr double kDigits = (1 << 23) - 1;
  std::array<std::int32_t, kLongestList> key{}, larger{};
  const auto n = static_cast<std::int32_t>(list.size());
  for (std::int32_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    key[at] = static_cast<std::int32_t>(list[at].iou * kDigits) * 256 + (255 - i);
  }
  count_larger(key.data(), n, larger.data());
  sorted.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) sorted[static_cast<std::size_t>(larger[i])] = list[i];
  if (sorted.size() > kMostNeighbours) sorted.resize(kMostNeighbours);
  list = sorted;
}

}  // namespace

void find_neighbours(const ImageItems& image, ImageState& state, std::vector<double>* support) {
  static thread_local SortedBoxes boxes;
  const std::size_t n = image.items.size();
  boxes.set(image);
  const auto add = [&](std::int32_t to, double iou, std::int32_t item) {
    std::vector<Overlap>& list = boxes.lists[static_cast<std::size_t>(to)];
    if (list.size() == kLongestList) keep_best(list, boxes.sorted);
    list.push_back({iou, item});
  };
  for (std::size_t a = 0; a < n; ++a) {
    const auto end =
        std::lower_bound(boxes.x1.begin() + static_cast<std::ptrdiff_t>(a) + 1, boxes.x1.end(), boxes.x2[a]);
    const auto last = static_cast<std::size_t>(end - boxes.x1.begin());
    overlaps(boxes, a, a + 1, last, boxes.iou.data());
    const std::int32_t source = image.items[static_cast<std::size_t>(boxes.order[a])].source;
    for (std::size_t b = a + 1; b < last; ++b) {
      if (!(boxes.iou[b] >= kGate)) continue;
      if (image.items[static_cast<std::size_t>(boxes.order[b])].source == source) continue;
      add(boxes.order[a], boxes.iou[b], boxes.order[b]);
      add(boxes.order[b], boxes.iou[b], boxes.order[a]);
    }
  }
  state.neighbour_begin.assign(n + 1, 0);
  if (support != nullptr) support->assign(n, 0.0);
  std::size_t total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    keep_best(boxes.lists[i], boxes.sorted);
    total += boxes.lists[i].size();
  }
  state.neighbour = NeighbourList(n, total);
  std::size_t at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (const Overlap& o : boxes.lists[i]) {
      state.neighbour.set(at++, o.item);
      if (support != nullptr) (*support)[i] += o.iou;
    }
    boxes.lists[i].clear();
    state.neighbour_begin[i + 1] = static_cast<std::int32_t>(at);
  }
  if (n > kManyItems) boxes = {};
}

void forget_neighbours(ImageState& state) {
  state.neighbour_begin = {};
  state.neighbour = {};
}

}  // namespace bdc::absence_aware
