#include "learn/bdc/absence_aware/image_state.h"

namespace bdc::absence_aware {

double drawn_objects(const ImageState& state) {
  double total = 0;
  for (const Candidate& c : state.candidates) total += c.existence;
  return total;
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
