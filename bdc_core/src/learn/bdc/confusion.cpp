#include "bdc/learn/bdc/confusion.h"

#include <algorithm>

namespace bdc {

std::size_t ConfusionColumns::find(std::size_t annotator, std::int32_t given) const {
  const auto first = label.begin() + static_cast<std::ptrdiff_t>(begin[annotator]);
  const auto last = label.begin() + static_cast<std::ptrdiff_t>(begin[annotator + 1]);
  const auto found = std::lower_bound(first, last, given);
  return found == last || *found != given ? npos : static_cast<std::size_t>(found - label.begin());
}

}  // namespace bdc
