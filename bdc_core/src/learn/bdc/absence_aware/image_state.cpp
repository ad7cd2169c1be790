#include "learn/bdc/absence_aware/image_state.h"

#include <algorithm>

namespace bdc::absence_aware {

double drawn_objects(const ImageState& state) {
  double total = 0;
  for (const Candidate& c : state.candidates) total += c.existence;
  return total;
}

bool out_of_view(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const Candidate& c) {
  constexpr double kLeastShare = 0.1;
  if (!beliefs.has_detector || !image.view) return false;
  for (const std::int32_t n : c.members) {
    if (image.items[static_cast<std::size_t>(n)].class_probs != nullptr) return false;
  }
  const Box box{c.mean[0], c.mean[1], c.mean[2], c.mean[3]};
  const Box inside{std::max(box.x1, image.view->x1), std::max(box.y1, image.view->y1), std::min(box.x2, image.view->x2),
                   std::min(box.y2, image.view->y2)};
  return !(inside.valid() && inside.area() >= kLeastShare * box.area());
}

bool annotator_drew(const ImageItems& image) {
  for (const Item& item : image.items) {
    if (item.class_probs == nullptr) return true;
  }
  return false;
}

bool somebody_draws(const AbsenceAwareBeliefs& beliefs, const ImageItems& image) {
  for (const std::int32_t k : image.seen_by) {
    if (draws(beliefs, k)) return true;
  }
  return false;
}

}  // namespace bdc::absence_aware
