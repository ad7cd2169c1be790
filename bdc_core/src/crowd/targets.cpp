#include "bdc/crowd/targets.h"

#include <algorithm>

namespace bdc {

std::int32_t Targets::label(std::size_t n) const {
  if (!hard_label.empty()) return hard_label[n];
  const auto row = class_probs.begin() + static_cast<std::ptrdiff_t>(n) * num_classes;
  return static_cast<std::int32_t>(std::max_element(row, row + num_classes) - row);
}

double Targets::class_prob(std::size_t n, std::size_t j) const {
  if (!hard_label.empty()) return hard_label[n] == static_cast<std::int32_t>(j) ? 1.0 : 0.0;
  return class_probs[n * static_cast<std::size_t>(num_classes) + j];
}

void Targets::make_class_vectors() {
  if (hard_label.empty()) return;
  const auto J = static_cast<std::size_t>(num_classes);
  class_probs.assign(hard_label.size() * J, 0.0);
  for (std::size_t n = 0; n < hard_label.size(); ++n) class_probs[n * J + static_cast<std::size_t>(hard_label[n])] = 1;
  hard_label.clear();
}

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
  if (!from.hard_label.empty() && to.class_probs.empty()) {
    copy(from.hard_label, first, last, to.hard_label);
  } else {
    to.make_class_vectors();
    for (std::size_t n = first; n < last; ++n) {
      for (std::size_t j = 0; j < J; ++j) to.class_probs.push_back(from.class_prob(n, j));
    }
  }
  copy(from.weight, first, last, to.weight);
  copy(from.score, first, last, to.score);
  copy(from.existence, first, last, to.existence);
  copy(from.located, first, last, to.located);
  copy(from.box_std, first, last, to.box_std);
  to.begin.push_back(to.box.size());
}

}  // namespace bdc
