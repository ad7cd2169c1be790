#include "yolov7/decode.h"

#include <bdc/plugin/torchvision_ops.h>
#include <torch/nn.h>

#include <cmath>
#include <limits>
#include <vector>

namespace yolov7 {
namespace {

double logit(double p) {
  if (!(p > 0)) return -std::numeric_limits<double>::infinity();
  if (!(p < 1)) return std::numeric_limits<double>::infinity();
  return std::log(p) - std::log1p(-p);
}

Sightings select(const Sightings& all, const Tensor& rows) {
  return {all.boxes.index_select(0, rows), all.objectness.index_select(0, rows), all.classes.index_select(0, rows),
          all.image.index_select(0, rows)};
}

}  // namespace

Tensor Sightings::scores() const {
  return objectness * std::get<0>(classes.max(1));
}

Sightings sightings(const Heads& heads, double min_objectness) {
  torch::NoGradGuard no_grad;
  const double limit = logit(min_objectness);
  std::vector<Tensor> raw, boxes, image;
  for (const Level& level : heads.levels) {
    const Tensor rows = (level.raw.detach().select(1, 4) > limit).nonzero().squeeze(1);
    const Tensor picked = level.raw.detach().index_select(0, rows);
    const Place place = place_of(level, rows);
    raw.push_back(picked.slice(1, 4));
    boxes.push_back(to_corners(boxes_of(level, picked, place)));
    image.push_back(place.image);
  }
  const Tensor values = torch::cat(raw).sigmoid(), images = torch::cat(image);
  Tensor classes = values.slice(1, 1);
  if (heads.num_classes() == 1) classes = torch::ones_like(classes);
  const Sightings all{torch::cat(boxes), values.select(1, 0), classes, images};
  if (images.size(0) < 2 || heads.batch == 1) return all;
  return select(all, std::get<1>(images.sort(/*stable=*/true, /*dim=*/0, /*descending=*/false)));
}

bdc::plugin::Predictions predictions(const Heads& heads, const bdc::plugin::DecodeOptions& options) {
  torch::NoGradGuard no_grad;
  Sightings seen = sightings(heads, options.min_score);  // a score is never above its objectness
  Tensor score = seen.scores();
  if (score.size(0) > 0) {
    const Tensor sure = (score > options.min_score).nonzero().squeeze(1);
    if (sure.size(0) < score.size(0)) {
      seen = select(seen, sure);
      score = score.index_select(0, sure);
    }
  }
  if (score.size(0) > 0) {
    const Tensor counts = torch::bincount(seen.image, {}, heads.batch).cpu();
    std::vector<Tensor> kept;
    std::int64_t first = 0;
    for (std::int64_t b = 0; b < heads.batch; ++b) {
      const auto n = counts[b].item<std::int64_t>();
      if (n == 0) continue;
      Tensor mine = score.slice(0, first, first + n), boxes = seen.boxes.slice(0, first, first + n), best;
      if (n > kMostSuppressed) {
        best = std::get<1>(mine.topk(kMostSuppressed));
        mine = mine.index_select(0, best);
        boxes = boxes.index_select(0, best);
      }
      Tensor keep = vision::ops::nms(boxes.contiguous(), mine.contiguous(), options.nms_iou);
      keep = keep.slice(0, 0, options.max_per_image);
      if (best.defined()) keep = best.index_select(0, keep);
      kept.push_back(keep + first);
      first += n;
    }
    const Tensor rows = torch::cat(kept);
    seen = select(seen, rows);
    score = score.index_select(0, rows);
  }
  const Tensor mass = seen.classes + 1e-12;  // all classes ruled out: equal shares
  return {seen.boxes, score, mass / mass.sum(1, /*keepdim=*/true), seen.image};
}

}  // namespace yolov7
