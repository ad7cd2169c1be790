#include "synth/detector_hand.h"

#include "bdc/core/io/coco.h"

namespace bdc::host {
namespace {

class DetectorHand : public Hand {
 public:
  explicit DetectorHand(std::vector<std::vector<Drawing>> drawings) : drawings_(std::move(drawings)) {}
  void draw(const CrowdData&, std::size_t image, Random&, std::vector<Drawing>& out) const override {
    out.insert(out.end(), drawings_[image].begin(), drawings_[image].end());
  }

 private:
  std::vector<std::vector<Drawing>> drawings_;
};

}  // namespace

std::shared_ptr<const Hand> make_detector_hand(const std::string& results, const CrowdData& data, double min_score) {
  std::vector<std::vector<Drawing>> drawings(data.images.size());
  ResultOptions options;
  options.skip_unknown_images = true;
  scan_coco_results(results, data, options, [&](const CocoResult& r) {
    if (r.score < min_score) return;
    const auto& b = r.xywh;
    drawings[static_cast<std::size_t>(r.image)].push_back({{b[0], b[1], b[0] + b[2], b[1] + b[3]}, r.label});
  });
  return std::make_shared<DetectorHand>(std::move(drawings));
}

}  // namespace bdc::host
