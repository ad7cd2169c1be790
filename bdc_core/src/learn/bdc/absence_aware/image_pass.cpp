#include "learn/bdc/absence_aware/image_pass.h"

#include <cmath>

#include "learn/bdc/absence_aware/candidate.h"
#include "learn/bdc/absence_aware/evidence.h"
#include "learn/bdc/absence_aware/image_targets.h"
#include "learn/bdc/absence_aware/partition.h"
#include "learn/bdc/absence_aware/problem.h"

namespace bdc {
namespace absence_aware {
namespace {

constexpr int kBoxSteps = 2;
/// An image without a move for two passes is looked at again only every fourth pass.
constexpr int kQuietPasses = 2, kQuietPeriod = 4;

}  // namespace

void run_image_pass(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, ImagePass pass, ImageState& state) {
  CandidateModel model(beliefs, image);
  if (pass == ImagePass::first) {
    find_neighbours(image, state);
    initial_partition(model, state);
  } else {
    for (Candidate& c : state.candidates) model.refine(c, kBoxSteps);
  }
  if (pass != ImagePass::boxes) {
    const bool look = state.quiet < kQuietPasses || (state.quiet - kQuietPasses) % kQuietPeriod == kQuietPeriod - 1;
    if (look && state.neighbour_begin.empty()) find_neighbours(image, state);
    const int moved = look ? improve_partition(model, state) : 0;
    state.quiet = moved > 0 ? 0 : state.quiet + 1;
  }
  state.undetected = image.lone ? 0.0 : std::exp(model.log_undetected());
}

double image_bound(const AbsenceAwareBeliefs& beliefs, const ImageItems& image, const ImageState& state) {
  CandidateModel model(beliefs, image);
  double bound = 0;
  Candidate copy;
  for (const Candidate& c : state.candidates) {
    copy = c;
    model.evaluate(copy, false);
    bound += copy.bound;
  }
  const double m = state.undetected;
  if (m > 0) bound += m * (model.log_undetected() - std::log(m) + 1);
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
  const ImageItems image{extent[0], extent[1], items, seen_by, is_lone(beliefs, seen_by)};
  ImageState state;
  run_image_pass(beliefs, image, ImagePass::first, state);
  Targets out;
  out.num_classes = static_cast<int>(beliefs.classes);
  append_targets(image, state, min_existence, labels.width > 0 && labels.height > 0, out);
  if (evidence == nullptr) return out;
  const TailTerms tail(beliefs.priors.tail);
  for (const Candidate& c : state.candidates) {
    for (const std::int32_t n : c.members) {
      const Item& item = items[static_cast<std::size_t>(n)];
      const auto k = static_cast<std::size_t>(item.source);
      const std::size_t first = evidence->confusion.begin[k];
      add_box(tail, beliefs.source[k], item, c, beliefs.classes, first, image.lone, evidence->source[k],
              evidence->confusion.value.data() + first * beliefs.classes);
      if (!image.lone) evidence->source[k].missed -= c.existence;
    }
  }
  if (!image.lone) {
    for (const std::int32_t k : seen_by) {
      evidence->source[static_cast<std::size_t>(k)].images += 1;
      evidence->source[static_cast<std::size_t>(k)].missed += expected_objects(state);
    }
  }
  add_image_totals(image, state, *evidence);
  evidence->image_bound += image_bound(beliefs, image, state);
  return out;
}

}  // namespace bdc
