#include "bdc/learn/bdc/confusion.h"

#include <algorithm>

namespace bdc {

std::size_t ConfusionColumns::find(std::size_t annotator, std::int32_t given) const {
  const auto first = label.begin() + static_cast<std::ptrdiff_t>(begin[annotator]);
  const auto last = label.begin() + static_cast<std::ptrdiff_t>(begin[annotator + 1]);
  const auto found = std::lower_bound(first, last, given);
  return found == last || *found != given ? npos : static_cast<std::size_t>(found - label.begin());
}

void ConfusionCells::append_columns(const ConfusionCells& other) {
  const std::size_t before = count.size();
  true_class.insert(true_class.end(), other.true_class.begin(), other.true_class.end());
  count.insert(count.end(), other.count.begin(), other.count.end());
  for (std::size_t c = 1; c < other.begin.size(); ++c) begin.push_back(before + other.begin[c]);
}

}  // namespace bdc
