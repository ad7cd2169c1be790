#include "fusion_method.h"

#include <algorithm>

#include "crowd/image_scale.h"

namespace bdc {
namespace {

class FusionMethod final : public FixedConsensus {
 public:
  FusionMethod(FuseImage fuse, std::function<BoxScore(const FitInput&)> score)
      : fuse_(std::move(fuse)), score_(std::move(score)) {}

  FitResult fit(const FitInput& input) override {
    const BoxScore score = score_ ? score_(input) : BoxScore{};
    return aggregate_images(input, [&](std::size_t i, ImageTargets& out) {
      std::vector<FusionBox> boxes = boxes_by_annotator(*input.crowd, i);
      const ImageScale scale = image_scale(*input.crowd, i);
      // Models are counted inside the image, so that the cost does not grow with the number of annotators elsewhere.
      std::int32_t model = -1, annotator = -1;
      for (FusionBox& b : boxes) {
        if (score) b.score = score(b);
        if (b.model != annotator) ++model;
        annotator = b.model;
        b.model = model;
        b.box = normalised(b.box, scale);
      }
      const std::size_t saw = input.crowd->assignment_begin[i + 1] - input.crowd->assignment_begin[i];
      for (const FusedBox& fused : fuse_(boxes, saw)) {
        out.add(scaled(fused.box, scale), fused.label, std::clamp(fused.score, 0.0, 1.0), fused.score);
      }
    });
  }

 private:
  FuseImage fuse_;
  std::function<BoxScore(const FitInput&)> score_;
};

}  // namespace

std::unique_ptr<Learner> make_fusion_method(FuseImage fuse, std::function<BoxScore(const FitInput&)> score) {
  return std::make_unique<FusionMethod>(std::move(fuse), std::move(score));
}

std::vector<FusionBox> boxes_by_annotator(const CrowdData& crowd, std::size_t image) {
  std::vector<FusionBox> boxes;
  for (std::size_t a = crowd.annotation_begin[image]; a < crowd.annotation_begin[image + 1]; ++a) {
    boxes.push_back({crowd.annotations[a].box, 1, crowd.annotations[a].label, crowd.annotations[a].annotator});
  }
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const FusionBox& a, const FusionBox& b) { return a.model < b.model; });
  return boxes;
}

}  // namespace bdc
