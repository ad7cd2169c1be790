#include "learn/bdc/absence_aware/class_sets.h"

#include <algorithm>
#include <numeric>

namespace bdc::absence_aware {
namespace {

/// The first item of each item's heap.
std::vector<std::int32_t> heaps(const ImageState& state, std::size_t items) {
  std::vector<std::int32_t> parent(items);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](std::int32_t n) {
    while (parent[static_cast<std::size_t>(n)] != n) {
      std::int32_t& up = parent[static_cast<std::size_t>(n)];
      up = parent[static_cast<std::size_t>(up)];
      n = up;
    }
    return n;
  };
  for (std::size_t n = 0; n < items; ++n) {
    for (auto i = static_cast<std::size_t>(state.neighbour_begin[n]);
         i < static_cast<std::size_t>(state.neighbour_begin[n + 1]); ++i) {
      const std::int32_t a = root(static_cast<std::int32_t>(n)), b = root(state.neighbour[i]);
      parent[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
  }
  for (std::size_t n = 0; n < items; ++n) parent[n] = root(static_cast<std::int32_t>(n));
  return parent;
}

}  // namespace

void find_class_sets(const ImageItems& image, std::size_t classes, ImageState& state) {
  state.class_set.clear();
  state.class_set_begin.clear();
  state.class_set_class.clear();
  if (classes <= kFewClasses) return;
  const std::vector<std::int32_t> heap = heaps(state, image.items.size());
  std::vector<std::pair<std::int32_t, std::int32_t>> given;  // heap, class
  for (std::size_t n = 0; n < heap.size(); ++n) {
    const Item& item = image.items[n];
    if (item.class_probs == nullptr) {
      given.emplace_back(heap[n], item.label);
      continue;
    }
    given.emplace_back(heap[n], static_cast<std::int32_t>(
                                    std::max_element(item.class_probs, item.class_probs + classes) - item.class_probs));
    for (std::size_t l = 0; l < classes; ++l) {
      if (item.class_probs[l] >= kThoughtOf) given.emplace_back(heap[n], static_cast<std::int32_t>(l));
    }
  }
  std::sort(given.begin(), given.end());
  given.erase(std::unique(given.begin(), given.end()), given.end());
  std::vector<std::int32_t> number(heap.size(), -1);
  state.class_set_begin.push_back(0);
  for (std::size_t g = 0; g < given.size(); ++g) {
    state.class_set_class.push_back(given[g].second);
    if (g + 1 < given.size() && given[g + 1].first == given[g].first) continue;
    number[static_cast<std::size_t>(given[g].first)] = static_cast<std::int32_t>(state.class_set_begin.size()) - 1;
    state.class_set_begin.push_back(static_cast<std::int32_t>(state.class_set_class.size()));
  }
  state.class_set.resize(heap.size());
  for (std::size_t n = 0; n < heap.size(); ++n) state.class_set[n] = number[static_cast<std::size_t>(heap[n])];
  state.class_set_class.shrink_to_fit();
}

}  // namespace bdc::absence_aware
