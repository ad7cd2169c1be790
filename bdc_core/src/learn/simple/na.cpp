// na: no aggregation; every annotation is a target of weight and score 1.
#include "image_method.h"

namespace bdc {
namespace {

class AllAnnotations final : public FixedConsensus {
 public:
  FitResult fit(const FitInput& input) override {
    return aggregate_images(input, [&](std::size_t i, ImageTargets& out) {
      for (std::size_t a = input.crowd->annotation_begin[i]; a < input.crowd->annotation_begin[i + 1]; ++a) {
        out.add(input.crowd->annotations[a].box, input.crowd->annotations[a].label, 1, 1);
      }
    });
  }
};

}  // namespace

LearnerEntry na_learner() {
  LearnerEntry entry;
  entry.info.name = "na";
  entry.info.description = "no aggregation: every annotation unchanged";
  entry.create = [](const Options&) { return std::make_unique<AllAnnotations>(); };
  return entry;
}

}  // namespace bdc
