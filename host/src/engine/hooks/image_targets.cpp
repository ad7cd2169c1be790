#include "engine/hooks/image_targets.h"

#include <stdexcept>

namespace bdc::host {

void save_targets(const Targets& t, StateWriter& state) {
  state(t.box), state(t.class_probs), state(t.hard_label), state(t.weight), state(t.score), state(t.existence);
  state(t.located), state(t.box_std), state(t.begin), state(t.num_classes);
}

Targets load_targets(StateReader& state) {
  Targets t;
  state.resized(t.box), state.resized(t.class_probs), state.resized(t.hard_label), state.resized(t.weight);
  state.resized(t.score), state.resized(t.existence), state.resized(t.located);
  state.resized(t.box_std), state.resized(t.begin);
  state(t.num_classes);
  if (!t.begin.empty() && t.begin.back() != t.box.size()) {
    throw std::invalid_argument("the state of BDC contradicts itself");
  }
  return t;
}

Targets LatestTargets::all() const {
  Targets out;
  for (const auto& [image, targets] : of_) append_image(targets, 0, out);
  return out;
}

void LatestTargets::save(StateWriter& state) const {
  std::vector<std::uint64_t> images;
  for (const auto& [image, targets] : of_) images.push_back(image);
  state(images);
  save_targets(all(), state);
}

void LatestTargets::load(StateReader& state) {
  std::vector<std::uint64_t> images;
  state.resized(images);
  const Targets all = load_targets(state);
  if (!images.empty() && all.begin.size() != images.size() + 1) {
    throw std::invalid_argument("the state of BDC contradicts itself");
  }
  of_.clear();
  for (std::size_t n = 0; n < images.size(); ++n) {
    Targets one;
    append_image(all, n, one);
    of_[static_cast<std::size_t>(images[n])] = std::move(one);
  }
}

void LatestTargets::merge(LatestTargets other) {
  for (auto& [image, targets] : other.of_) of_[image] = std::move(targets);
}

}  // namespace bdc::host
