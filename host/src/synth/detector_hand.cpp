#include "synth/detector_hand.h"

#include "bdc/base/error.h"
#include "bdc/crowd/clip_to_image.h"
#include "bdc/crowd/coco.h"
#include "files/json_file.h"

namespace bdc::host {
namespace {

class ResultsHand : public Hand {
 public:
  explicit ResultsHand(std::vector<std::vector<Drawing>> drawings) : drawings_(std::move(drawings)) {}
  void draw(const CrowdData&, std::size_t image, Random&, std::vector<Drawing>& out) const override {
    out.insert(out.end(), drawings_[image].begin(), drawings_[image].end());
  }

 private:
  std::vector<std::vector<Drawing>> drawings_;
};

/// "12 of 50 results".
std::string share(std::size_t part, std::size_t of) {
  return std::to_string(part) + " of " + std::to_string(of) + (of == 1 ? " result" : " results");
}

}  // namespace

DetectorHand make_detector_hand(const std::string& results, const CrowdData& data, double min_score) {
  std::vector<std::vector<Drawing>> drawings(data.images.size());
  std::size_t elsewhere = 0, here = 0, good = 0, outside = 0;
  ResultOptions options;
  options.skip_unknown_images = true;
  options.skipped = &elsewhere;
  scan_coco_results(results, data, options, [&](const CocoResult& r) {
    ++here;
    if (!(r.score >= min_score)) return;
    ++good;
    const auto image = static_cast<std::size_t>(r.image);
    const auto& [x, y, w, h] = r.xywh;
    const Box box = clip_to_image({x, y, x + w, y + h}, data.images[image]);
    if (box.valid()) {
      drawings[image].push_back({box, r.label});
    } else {
      ++outside;
    }
  });
  const std::size_t all = here + elsewhere;
  if (here == 0 && elsewhere > 0) {
    throw DataError(results + ": none of its results (" + std::to_string(elsewhere) +
                    ") is on an image of the truth, neither by id nor by file name\n  advice: run the detector on the "
                    "truth's images, and use their ids or file names");
  }
  DetectorHand out;
  if (elsewhere > 0) {
    out.notes.push_back(results + ": " + share(elsewhere, all) + " are on images that the truth does not have");
  }
  if (good == 0) {
    const std::string limit = Json(min_score).dump();
    out.notes.push_back(results + (all == 0 ? ": has no results" : ": no result has a score of at least " + limit) +
                        "; this annotator draws nothing");
  }
  if (outside > 0) out.notes.push_back(results + ": " + share(outside, all) + " lie outside their images, left out");
  out.hand = std::make_shared<ResultsHand>(std::move(drawings));
  return out;
}

}  // namespace bdc::host
