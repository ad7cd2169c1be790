#include "data/frames.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace bdc::host {
namespace {

torch::Tensor doubles(const torch::Tensor& t) {
  return t.detach().to(torch::kCPU, torch::kFloat64).contiguous();
}

double overlap(const Box& a, const Box& b) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  return width > 0 && height > 0 ? width * height : 0;
}

/// A box of the input in the frame that it belongs to, and which row it was.
struct Unmapped {
  Box box;
  std::size_t row;
};

/// Per frame, rows in their order. boxes: N x 4; image_index: N.
std::vector<std::vector<Unmapped>> unmap(const torch::Tensor& boxes, const torch::Tensor& image_index,
                                         const plugin::Images& images) {
  const std::vector<Frame> frames = frames_of(images);
  std::vector<std::size_t> begin(images.meta.size() + 1, 0);  // frames of each input
  for (const Frame& frame : frames) ++begin[frame.input + 1];
  for (std::size_t b = 0; b < images.meta.size(); ++b) begin[b + 1] += begin[b];
  const auto rows = doubles(boxes), index = image_index.to(torch::kCPU, torch::kInt64).contiguous();
  const double* box = rows.data_ptr<double>();
  const std::int64_t* image = index.data_ptr<std::int64_t>();
  std::vector<std::vector<Unmapped>> out(frames.size());
  for (std::size_t n = 0; n < static_cast<std::size_t>(rows.size(0)); ++n) {
    if (image[n] < 0 || image[n] >= static_cast<std::int64_t>(images.meta.size()) ||
        (n > 0 && image[n] < image[n - 1])) {
      throw std::invalid_argument("image_index must be in 0..batch-1 and not decrease");
    }
    const Box given{box[4 * n], box[4 * n + 1], box[4 * n + 2], box[4 * n + 3]};
    const auto b = static_cast<std::size_t>(image[n]);
    std::size_t at = begin[b];
    for (std::size_t f = at + 1; f < begin[b + 1]; ++f) {
      if (overlap(given, frames[f].area) > overlap(given, frames[at].area)) at = f;
    }
    out[at].push_back({unmap_box(frames[at].to_input, given), n});
  }
  return out;
}

}  // namespace

std::vector<Frame> frames_of(const plugin::Images& images) {
  const double width = static_cast<double>(images.pixels.size(3)), height = static_cast<double>(images.pixels.size(2));
  std::vector<Frame> out;
  for (std::size_t b = 0; b < images.meta.size(); ++b) {
    const plugin::ImageMeta& meta = images.meta[b];
    if (meta.tiles.empty()) out.push_back({b, meta.index, meta.to_input.m, {0, 0, width, height}});
    for (const plugin::Tile& tile : meta.tiles) {
      out.push_back({b, tile.index, tile.to_input.m, {tile.area[0], tile.area[1], tile.area[2], tile.area[3]}});
    }
  }
  return out;
}

Box view_of(const Frame& frame) {
  const AffineMap& m = frame.to_input;
  const double det = m[0] * m[4] - m[1] * m[3];
  if (!(std::abs(det) > 1e-12)) throw std::domain_error("affine map is singular");
  constexpr double kFar = std::numeric_limits<double>::infinity();
  Box out{kFar, kFar, -kFar, -kFar};
  for (const double corner_x : {frame.area.x1, frame.area.x2}) {
    for (const double corner_y : {frame.area.y1, frame.area.y2}) {
      const double u = corner_x - m[2], v = corner_y - m[5];
      const double x = (m[4] * u - m[1] * v) / det, y = (m[0] * v - m[3] * u) / det;
      out = {std::min(out.x1, x), std::min(out.y1, y), std::max(out.x2, x), std::max(out.y2, y)};
    }
  }
  return out;
}

std::optional<Box> to_input(const Frame& frame, const Box& box) {
  return clip_box(map_box(frame.to_input, box), frame.area);
}

plugin::Targets map_targets(const Targets& targets, const plugin::Images& images) {
  const std::vector<Frame> frames = frames_of(images);
  if (targets.begin.size() != frames.size() + 1) {
    throw std::invalid_argument("map_targets: targets of " + std::to_string(targets.begin.size()) +
                                " - 1 images for a batch of " + std::to_string(frames.size()));
  }
  const auto classes = static_cast<std::size_t>(targets.num_classes);
  std::vector<float> boxes, probs, weights;
  std::vector<std::int64_t> index;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    for (std::size_t n = targets.begin[f]; n < targets.begin[f + 1]; ++n) {
      const auto box = to_input(frames[f], targets.box[n]);
      if (!box) continue;
      for (const double v : {box->x1, box->y1, box->x2, box->y2}) boxes.push_back(static_cast<float>(v));
      for (std::size_t j = 0; j < classes; ++j) probs.push_back(static_cast<float>(targets.class_prob(n, j)));
      weights.push_back(static_cast<float>(targets.weight[n]));
      index.push_back(static_cast<std::int64_t>(frames[f].input));
    }
  }
  const auto count = static_cast<std::int64_t>(index.size());
  return {torch::tensor(boxes, torch::kFloat32).reshape({count, 4}),
          torch::tensor(probs, torch::kFloat32).reshape({count, targets.num_classes}),
          torch::tensor(weights, torch::kFloat32), torch::tensor(index, torch::kInt64)};
}

Predictions unmap_predictions(const plugin::Predictions& predictions, const plugin::Images& images) {
  const auto scores = doubles(predictions.scores), probs = doubles(predictions.class_probs);
  const double *score = scores.data_ptr<double>(), *prob = probs.data_ptr<double>();
  const auto classes = static_cast<std::size_t>(probs.size(1));
  Predictions out;
  out.num_classes = static_cast<int>(classes);
  out.begin.push_back(0);
  for (const auto& frame : unmap(predictions.boxes, predictions.image_index, images)) {
    for (const Unmapped& seen : frame) {
      const double* row = prob + seen.row * classes;
      out.box.push_back(seen.box);
      out.score.push_back(score[seen.row]);
      double sum = 0;
      for (std::size_t j = 0; j < classes; ++j) sum += row[j];
      for (std::size_t j = 0; j < classes; ++j) out.class_probs.push_back(row[j] / sum);
    }
    out.begin.push_back(out.box.size());
  }
  return out;
}

std::vector<std::vector<Detection>> unmap_detections(const plugin::Detections& detections,
                                                     const plugin::Images& images) {
  const auto scores = doubles(detections.scores);
  const auto labels = detections.labels.to(torch::kCPU, torch::kInt64).contiguous();
  const auto frames = unmap(detections.boxes, detections.image_index, images);
  std::vector<std::vector<Detection>> out(frames.size());
  for (std::size_t f = 0; f < frames.size(); ++f) {
    for (const Unmapped& seen : frames[f]) {
      out[f].push_back({seen.box, static_cast<std::int32_t>(labels.data_ptr<std::int64_t>()[seen.row]),
                        scores.data_ptr<double>()[seen.row]});
    }
  }
  return out;
}

}  // namespace bdc::host
