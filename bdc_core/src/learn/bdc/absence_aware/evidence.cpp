#include "learn/bdc/absence_aware/evidence.h"

#include <algorithm>
#include <stdexcept>

#include "learn/bdc/absence_aware/candidate.h"
#include "learn/bdc/absence_aware/edge_kernels.h"
#include "learn/bdc/absence_aware/object_rate.h"
#include "learn/bdc/absence_aware/worklists.h"

namespace bdc {

void SourceEvidence::merge(const SourceEvidence& other) {
  images += other.images;
  found += other.found;
  loose += other.loose;
  found_doubt += other.found_doubt;
  missed_doubt += other.missed_doubt;
  boxes += other.boxes;
  missed += other.missed;
  spurious += other.spurious;
  for (std::size_t e = 0; e < 4; ++e) {
    weight[e] += other.weight[e];
    error[e] += other.error[e];
    square[e] += other.square[e];
    size_error[e] += other.size_error[e];
    size_square[e] += other.size_square[e];
  }
}

void WorklistEvidence::merge(const WorklistEvidence& other) {
  images += other.images;
  blank_images += other.blank_images;
  for (std::size_t m = 0; m < kObjectRates; ++m) rate_images[m] += other.rate_images[m];
}

void AbsenceAwareEvidence::merge(const AbsenceAwareEvidence& other) {
  if (source.size() != other.source.size() || class_count.size() != other.class_count.size() ||
      confusion.begin != other.confusion.begin || confusion.label != other.confusion.label) {
    throw std::invalid_argument("evidence of different crowds cannot be merged: sources, classes or columns differ");
  }
  for (std::size_t k = 0; k < source.size(); ++k) source[k].merge(other.source[k]);
  for (std::size_t i = 0; i < confusion.value.size(); ++i) confusion.value[i] += other.confusion.value[i];
  for (std::size_t j = 0; j < class_count.size(); ++j) class_count[j] += other.class_count[j];
  for (std::size_t w = 0; w < kWorklists; ++w) worklist[w].merge(other.worklist[w]);
  image_bound += other.image_bound;
  for (std::size_t i = 0; i < kScoreLevels; ++i) {
    real_level[i] += other.real_level[i];
    spurious_level[i] += other.spurious_level[i];
  }
}

AbsenceAwareEvidence in_box_sizes(AbsenceAwareEvidence evidence) {
  for (SourceEvidence& s : evidence.source) {
    s.error = s.size_error;
    s.square = s.size_square;
  }
  return evidence;
}

namespace absence_aware {
namespace {
/// Probability that the drawn box is out of place: 0 if it overlaps the consensus of the candidate's other members by
/// at least kDrawnIou (a consensus that it is itself a part of would always be near), or is alone. If not, it is the
/// box or that consensus that is off, by as much as either errs otherwise: own error variance over the sum of both.
double out_of_place(double tail, const SourceBelief& belief, const Item& item, const Candidate& c) {
  if (c.members.size() == 1) return 0;
  std::array<double, 4> others;
  double blame = 0;
  for (std::size_t e = 0; e < 4; ++e) {
    const double scale = c.scale[e & 1U];
    const double d = expected_square(belief, e, item.edge[e], c.mean[e], c.variance[e], scale);
    const double own = c.variance[e] * belief.precision[e] / (scale * scale) * outlier_weight(tail, d);
    others[e] = c.mean[e] +
                std::min(own / std::max(1e-3, 1 - own), 1e3) * (c.mean[e] - (item.edge[e] - scale * belief.bias[e]));
    blame += std::clamp(1 - own, 0.0, 1.0) / 4;
  }
  const Box consensus{others[0], others[1], others[2], others[3]};
  const bool near =
      consensus.valid() && iou({item.edge[0], item.edge[1], item.edge[2], item.edge[3]}, consensus) >= kDrawnIou;
  if (near) return 0;
  return c.members.size() == 2 ? blame : 1.0;
}

/// Adds a box's label to the dense counts.
void add_label(const Item& item, const Candidate& c, const ClassSet& classes, ConfusionColumns& counts) {
  const double real = item.weight * c.existence;
  const std::size_t J = counts.num_classes;
  const auto add = [&](std::size_t column, double weight) {
    double* to = counts.value.data() + column * J;
    for (std::size_t u = 0; u < classes.size(); ++u) to[classes[u]] += weight * static_cast<double>(c.class_probs[u]);
  };
  if (item.class_probs == nullptr) {
    add(item.column, real);
    return;
  }
  const std::size_t first = counts.begin[static_cast<std::size_t>(item.source)];
  for (std::size_t l = 0; l < J; ++l) {
    if (item.class_probs[l] >= kSmallestShare) add(first + l, real * item.class_probs[l]);
  }
}

}  // namespace

void add_box(double tail, const SourceBelief& belief, const Item& item, const Candidate& c, bool lone, Counted what,
             SourceEvidence& sums) {
  const double look = item.weight, real = look * c.existence;
  const double place = c.members.size() == 1 ? 0.0 : c.voices * c.existence;
  sums.boxes += place;
  if (!lone) {
    if (what == Counted::all) {
      sums.loose += real * out_of_place(tail, belief, item, c);
      sums.found_doubt += real * (1 - c.existence);
    }
    sums.found += real;
    sums.spurious += look - real;
  }
  add_edges(item, belief, tail, c, place, what == Counted::all, sums);
}

double doubt_of(const ImageState& state) {
  double sum = 0;
  for (const Candidate& c : state.candidates) sum += c.existence * (1 - c.existence);
  return sum;
}

namespace {

/// Adds what does not belong to a single source: classes, objects, score levels.
void add_image_totals(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state,
                      const ObjectRate& rate, AbsenceAwareEvidence& evidence) {
  WorklistEvidence& kind = evidence.worklist[worklist_of(beliefs, image)];
  if (state.blank) {
    if (somebody_draws(beliefs, image)) {
      kind.images += 1;
      kind.blank_images += 1;
    }
    for (const Item& item : image.items) evidence.spurious_level[static_cast<std::size_t>(item.level)] += item.weight;
    return;
  }
  if (!image.lone) {
    const auto share = rate.posterior(drawn_objects(state));
    if (somebody_draws(beliefs, image)) kind.images += 1;
    for (std::size_t m = 0; m < kObjectRates; ++m) kind.rate_images[m] += share[m];
  }
  for (const Candidate& c : state.candidates) {
    const ClassSet classes = state.classes_of(c, beliefs.classes);
    for (std::size_t u = 0; tells_of_classes(c, image) && u < classes.size(); ++u) {
      evidence.class_count[classes[u]] += c.existence * static_cast<double>(c.class_probs[u]);
    }
    for (const std::int32_t n : c.members) {
      const Item& item = image.items[static_cast<std::size_t>(n)];
      if (item.level < 0 || image.lone) continue;
      evidence.real_level[static_cast<std::size_t>(item.level)] += item.weight * c.existence;
      evidence.spurious_level[static_cast<std::size_t>(item.level)] += item.weight * (1 - c.existence);
    }
  }
}

}  // namespace

void add_image_sums(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state, Counted what,
                    AbsenceAwareEvidence& evidence) {
  const ObjectRate rate(beliefs, image);
  add_image_totals(beliefs, image, state, rate, evidence);
  if (state.blank) {
    if (!beliefs.has_detector) return;
    evidence.source.back().images += image.weight_of_look(image.seen_by.size() - 1);
    for (const Item& item : image.items) evidence.source.back().spurious += item.weight;
    return;
  }
  const double tail = beliefs.priors.tail;
  for (const Candidate& c : state.candidates) {
    for (const std::int32_t n : c.members) {
      const Item& item = image.items[static_cast<std::size_t>(n)];
      const auto k = static_cast<std::size_t>(item.source);
      add_box(tail, beliefs.source[k], item, c, image.lone, what, evidence.source[k]);
      if (image.lone) continue;
      evidence.source[k].missed -= item.weight * c.existence;
      evidence.source[k].missed_doubt -= item.weight * c.existence * (1 - c.existence);
    }
  }
  if (image.lone) return;
  for (const Candidate& c : state.candidates) {
    if (!out_of_view(beliefs, image, c)) continue;
    const double w = image.weight_of_look(image.seen_by.size() - 1) * c.existence;
    evidence.source.back().missed -= w;
    evidence.source.back().missed_doubt -= w * (1 - c.existence);
  }
  const double drawn = drawn_objects(state), objects = drawn + state.undetected, doubt = doubt_of(state);
  const Hidden hidden = rate.hidden(drawn);
  for (std::size_t n = 0; n < image.seen_by.size(); ++n) {
    SourceEvidence& looked = evidence.source[static_cast<std::size_t>(image.seen_by[n])];
    const double w = image.weight_of_look(n);
    const bool annotator = static_cast<std::size_t>(image.seen_by[n]) < beliefs.annotators;
    looked.images += w * (annotator ? 1 + hidden.images : 1);
    looked.missed += w * (annotator ? objects + hidden.objects : objects);
    looked.missed_doubt += w * doubt;
  }
}

void add_image(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state,
               AbsenceAwareEvidence& evidence) {
  add_image_sums(beliefs, image, state, Counted::all, evidence);
  if (state.blank) return;
  for (const Candidate& c : state.candidates) {
    if (!tells_of_classes(c, image)) continue;
    for (const std::int32_t n : c.members) {
      add_label(image.items[static_cast<std::size_t>(n)], c, state.classes_of(c, beliefs.classes), evidence.confusion);
    }
  }
}

}  // namespace absence_aware
}  // namespace bdc
