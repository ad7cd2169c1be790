#include "learn/bdc/absence_aware/image_pass.h"

#include <algorithm>
#include <cmath>

#include "learn/bdc/absence_aware/candidate.h"
#include "learn/bdc/absence_aware/class_sets.h"
#include "learn/bdc/absence_aware/evidence.h"
#include "learn/bdc/absence_aware/image_targets.h"
#include "learn/bdc/absence_aware/look_weights.h"
#include "learn/bdc/absence_aware/object_rate.h"
#include "learn/bdc/absence_aware/own_labels.h"
#include "learn/bdc/absence_aware/partition.h"
#include "learn/bdc/absence_aware/problem.h"
#include "learn/bdc/absence_aware/worklists.h"

namespace bdc {
namespace absence_aware {
namespace {

constexpr int kBoxSteps = 2;
/// An image without a move for two passes is looked at again only every fourth pass.
constexpr int kQuietPasses = 2, kQuietPeriod = 4;
constexpr int kPivotSteps = 4;
/// The detector alone shows an object when "none of its boxes is one" has less than half the probability.
constexpr double kSomething = 0.6931471805599453;

/// Boxes drawn per look, a first guess at the number of objects.
double first_pivot(const ImageItems& image) {
  return image.seen_by.empty()
             ? 0.0
             : std::floor(static_cast<double>(image.items.size()) / static_cast<double>(image.seen_by.size()));
}

/// Puts the pivot below the expected number of objects and lets existence follow; the boxes stay.
void settle_pivot(const ObjectRate& rate, CandidateModel& model, ImageState& state) {
  for (int step = 0; step < kPivotSteps; ++step) {
    const double pivot = std::floor(drawn_objects(state));
    if (pivot == state.pivot) return;
    state.pivot = pivot;
    const double change = rate.log_weight(pivot) - model.log_object();
    model.set_log_object(rate.log_weight(pivot));
    for (Candidate& c : state.candidates) {
      c.real += change;
      c.bound = log_sum(c.real, c.spurious);
      c.existence = 1 / (1 + std::exp(c.spurious - c.real));
    }
  }
}

/// Expected spurious boxes of those who looked.
double expected_spurious(const AbsenceAwareBeliefs& beliefs, const ImageItems& image) {
  double sum = 0;
  for (std::size_t n = 0; n < image.seen_by.size(); ++n) {
    sum += image.weight_of_look(n) * beliefs.source[static_cast<std::size_t>(image.seen_by[n])].mean_spurious();
  }
  return sum;
}

double blank_share(const AbsenceAwareBeliefs& beliefs, const ImageItems& image) {
  return beliefs.priors.worklist[worklist_of(beliefs, image)].blank_share;
}

/// ln of the prior probability that an image is not blank. Nothing where nobody looked who ever draws.
double log_not_blank(const AbsenceAwareBeliefs& beliefs, const ImageItems& image) {
  return somebody_draws(beliefs, image) ? std::log1p(-blank_share(beliefs, image)) : 0.0;
}

/// Of a blank image: no objects, and every box of the detector spurious. Nothing where nobody looked who ever draws.
double blank_bound(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const CandidateModel* model) {
  if (!somebody_draws(beliefs, image)) return 0;
  double bound = std::log(blank_share(beliefs, image));
  if (beliefs.has_detector)
    bound -= image.weight_of_look(image.seen_by.size() - 1) * beliefs.source.back().mean_spurious();
  for (std::size_t n = 0; n < image.items.size(); ++n) bound += model->spurious_weight(n);
  return bound;
}

}  // namespace

void run_image_pass(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, ImagePass pass, ImageState& state) {
  if (image.items.empty()) {
    state.blank = true;
    state.bound = blank_bound(beliefs, image, nullptr);
    return;
  }
  const bool look =
      pass == ImagePass::first || (pass == ImagePass::partition &&
                                   (state.quiet < kQuietPasses || (state.quiet - kQuietPasses) % kQuietPeriod == 1));
  if (pass == ImagePass::partition && !look) {
    ++state.quiet;
    return;
  }
  std::vector<double> support;
  if (pass == ImagePass::first) {
    find_neighbours(image, state, &support);
    find_class_sets(image, beliefs.classes, state);
  }
  CandidateModel model(beliefs, image, state);
  const ObjectRate rate(beliefs, image);
  if (pass == ImagePass::first) state.pivot = first_pivot(image);
  model.set_log_object(rate.log_weight(state.pivot));
  if (pass == ImagePass::first) {
    initial_partition(model, support, state);
  } else if (pass == ImagePass::boxes) {
    for (Candidate& c : state.candidates) model.refine(c, kBoxSteps);
  }
  if (look) {
    if (state.neighbour_begin.empty()) find_neighbours(image, state);
    const int moved = improve_partition(model, state);
    state.quiet = moved > 0 ? 0 : state.quiet + 1;
  }
  double bounds = 0;
  if (image.lone) {
    for (const Candidate& c : state.candidates) bounds += c.bound;
    state.occupied = kLoneBoxIsReal;
    state.bound = bounds;
    return;
  }
  settle_pivot(rate, model, state);
  state.undetected = rate.undetected(drawn_objects(state));
  for (const Candidate& c : state.candidates) bounds += c.bound;
  const double occupied =
      log_not_blank(beliefs, image) + rate.bound(state.pivot) - expected_spurious(beliefs, image) + bounds;
  state.bound = occupied;
  if (annotator_drew(image)) return;
  double something = 0;
  for (const Candidate& c : state.candidates) {
    something += c.bound - c.spurious;  // -ln of the probability that none is an object
  }
  const double blank = blank_bound(beliefs, image, &model);
  const bool choice = something < kSomething;
  const bool free = pass == ImagePass::first || (choice ? blank >= occupied : occupied >= blank);
  if (free) state.blank = choice;
  if (state.blank) state.bound = blank;
  state.occupied = 1 / (1 + std::exp(blank - occupied));
}

void look_again(ImageState& state) {
  state.quiet = std::min(state.quiet, kQuietPasses - 1);
}

double image_bound(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state) {
  if (state.blank && image.items.empty()) return blank_bound(beliefs, image, nullptr);
  CandidateModel model(beliefs, image, state);
  if (state.blank) return blank_bound(beliefs, image, &model);
  const ObjectRate rate(beliefs, image);
  model.set_log_object(rate.log_weight(state.pivot));
  double bound = 0;
  if (!image.lone) {
    bound = log_not_blank(beliefs, image) + rate.bound(state.pivot) - expected_spurious(beliefs, image);
  }
  Candidate copy;
  for (const Candidate& c : state.candidates) {
    copy = c;
    model.evaluate(copy, false);
    bound += copy.bound;
  }
  return bound;
}

}  // namespace absence_aware

Targets consensus_of_image(const AbsenceAwareBeliefs& beliefs, const ImageLabels& labels, double min_existence,
                           AbsenceAwareEvidence* evidence) {
  using namespace absence_aware;
  std::vector<Item> items;
  append_items(labels, beliefs, items);
  std::vector<std::int32_t> seen_by;
  for (const Assignment& a : labels.seen_by) seen_by.push_back(a.annotator);
  if (beliefs.has_detector) seen_by.push_back(static_cast<std::int32_t>(beliefs.annotators));
  const auto extent = image_extent(labels.width, labels.height, items);
  const std::vector<double> weights = look_weights(beliefs, seen_by);
  set_item_weights(seen_by, weights, items);
  const ImageItems image{extent[0], extent[1], items, seen_by, is_lone(beliefs, seen_by), weights, labels.view};
  ImageState state;
  run_image_pass(beliefs, image, ImagePass::first, state);
  if (evidence != nullptr) {
    add_image(beliefs, image, state, *evidence);
    evidence->image_bound += image_bound(beliefs, image, state);
  }
  leave_out_own_labels(beliefs, image, state);
  Targets out;
  out.num_classes = static_cast<int>(beliefs.classes);
  append_targets(image, state, min_existence, labels.width > 0 && labels.height > 0, out);
  return out;
}

}  // namespace bdc
