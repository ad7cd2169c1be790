// na: no aggregation; every annotation is a target of weight and score 1.
#include "image_method.h"

namespace bdc {
namespace {

class AllAnnotations final : public AggregationMethod {
 public:
  AggregationResult aggregate(const AggregationInput& input) const override {
    return aggregate_images(input, [&](std::size_t i, ImageTargets& out) {
      for (std::size_t a = input.crowd->annotation_begin[i]; a < input.crowd->annotation_begin[i + 1]; ++a) {
        out.add(input.crowd->annotations[a].box, input.crowd->annotations[a].label, 1, 1);
      }
    });
  }
};

}  // namespace

MethodEntry na_method() {
  return {"na", "no aggregation: every annotation as it is", {}, [](const MethodOptions&) {
            return std::make_unique<AllAnnotations>();
          }};
}

}  // namespace bdc
