#include "yolov7/decode.h"

#include <torch/nn.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "parts/vision_kernels.h"

namespace yolov7 {
namespace {

/// The published distance between classes in suppression, in pixels.
constexpr double kLeastSpan = 4096;

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

Found found(const Heads& heads, const bdc::plugin::DecodeOptions& options, LabelsPerBox labels) {
  torch::NoGradGuard no_grad;
  const Sightings all = sightings(heads, options.min_score);
  const Tensor values = all.objectness.unsqueeze(1) * all.classes;
  Tensor row, label, score;
  if (labels == LabelsPerBox::every) {
    const Tensor sure = (values > options.min_score).nonzero();
    row = sure.select(1, 0);
    label = sure.select(1, 1);
    score = values.flatten().index_select(0, row * values.size(1) + label);
  } else {
    const auto [best, which] = values.max(1);
    row = (best > options.min_score).nonzero().squeeze(1);
    label = which.index_select(0, row);
    score = best.index_select(0, row);
  }
  const Tensor image = all.image.index_select(0, row);
  std::vector<Tensor> kept;
  for (std::int64_t b = 0; b < heads.batch; ++b) {
    Tensor mine = (image == b).nonzero().squeeze(1);
    if (mine.size(0) > kMostDetections) {
      mine = mine.index_select(0, std::get<1>(score.index_select(0, mine).topk(kMostDetections)));
    }
    if (mine.size(0) == 0) continue;
    // Classes are moved apart, so that boxes of different classes do not overlap.
    const Tensor boxes = all.boxes.index_select(0, row.index_select(0, mine));
    const Tensor span = (boxes.max() - boxes.min()).clamp_min(kLeastSpan);
    const Tensor apart = boxes + (label.index_select(0, mine).unsqueeze(1) * span).to(boxes.scalar_type());
    const Tensor keep = parts::nms_anywhere(apart, score.index_select(0, mine), options.nms_iou);
    kept.push_back(mine.index_select(0, keep.slice(0, 0, options.max_per_image)));
  }
  const Tensor rows = kept.empty() ? torch::empty({0}, row.options()) : torch::cat(kept);
  return {select(all, row.index_select(0, rows)), label.index_select(0, rows), score.index_select(0, rows)};
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
      Tensor keep = parts::nms_anywhere(boxes.contiguous(), mine.contiguous(), options.nms_iou);
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
