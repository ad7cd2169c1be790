#include "engine/hooks/image_targets.h"

#include <stdexcept>

#include "bdc/crowd/targets_of_ranks.h"

namespace bdc::host {

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
