#include "bdc/core/targets.h"

namespace bdc {

void append_image(const Targets& from, std::size_t image, Targets& to) {
  const auto J = static_cast<std::size_t>(from.num_classes);
  const auto copy = [](const auto& source, std::size_t first, std::size_t last, auto& into) {
    if (source.empty()) return;
    into.insert(into.end(), source.begin() + static_cast<std::ptrdiff_t>(first),
                source.begin() + static_cast<std::ptrdiff_t>(last));
  };
  to.num_classes = from.num_classes;
  if (to.begin.empty()) to.begin.push_back(0);
  const std::size_t first = from.begin[image], last = from.begin[image + 1];
  copy(from.box, first, last, to.box);
  copy(from.class_probs, first * J, last * J, to.class_probs);
  copy(from.weight, first, last, to.weight);
  copy(from.score, first, last, to.score);
  copy(from.existence, first, last, to.existence);
  copy(from.box_std, first, last, to.box_std);
  to.begin.push_back(to.box.size());
}

}  // namespace bdc
