#include "data/frames.h"

#include <torch/types.h>

#include <stdexcept>

#include "data/box_map.h"

namespace bdc::host {

plugin::Targets map_targets(const Targets& targets, const plugin::Images& images) {
  if (targets.begin.size() != images.meta.size() + 1) {
    throw std::invalid_argument("map_targets: targets of " + std::to_string(targets.begin.size()) +
                                " - 1 images for a batch of " + std::to_string(images.meta.size()));
  }
  const double width = static_cast<double>(images.pixels.size(3)), height = static_cast<double>(images.pixels.size(2));
  const auto classes = static_cast<std::size_t>(targets.num_classes);
  std::vector<float> boxes, probs, weights;
  std::vector<std::int64_t> index;
  for (std::size_t b = 0; b < images.meta.size(); ++b) {
    for (std::size_t n = targets.begin[b]; n < targets.begin[b + 1]; ++n) {
      const auto box = clip_to_input(map_box(images.meta[b].to_input.m, targets.box[n]), width, height);
      if (!box) continue;
      for (const double v : {box->x1, box->y1, box->x2, box->y2}) boxes.push_back(static_cast<float>(v));
      for (std::size_t j = 0; j < classes; ++j) probs.push_back(static_cast<float>(targets.class_prob(n, j)));
      weights.push_back(static_cast<float>(targets.weight[n]));
      index.push_back(static_cast<std::int64_t>(b));
    }
  }
  const auto count = static_cast<std::int64_t>(index.size());
  return {torch::tensor(boxes, torch::kFloat32).reshape({count, 4}),
          torch::tensor(probs, torch::kFloat32).reshape({count, targets.num_classes}),
          torch::tensor(weights, torch::kFloat32), torch::tensor(index, torch::kInt64)};
}

Predictions unmap_predictions(const plugin::Predictions& predictions, const plugin::Images& images) {
  const auto doubles = [](const torch::Tensor& t) { return t.detach().to(torch::kCPU, torch::kFloat64).contiguous(); };
  const auto boxes = doubles(predictions.boxes), scores = doubles(predictions.scores),
             probs = doubles(predictions.class_probs);
  const auto index = predictions.image_index.to(torch::kCPU, torch::kInt64).contiguous();
  const auto count = static_cast<std::size_t>(boxes.size(0)), classes = static_cast<std::size_t>(probs.size(1));
  const double *box = boxes.data_ptr<double>(), *score = scores.data_ptr<double>(), *prob = probs.data_ptr<double>();
  const std::int64_t* image = index.data_ptr<std::int64_t>();

  Predictions out;
  out.num_classes = static_cast<int>(classes);
  out.begin.assign(images.meta.size() + 1, 0);
  for (std::size_t n = 0; n < count; ++n) {
    if (image[n] < 0 || image[n] >= static_cast<std::int64_t>(images.meta.size()) ||
        (n > 0 && image[n] < image[n - 1])) {
      throw std::invalid_argument("unmap_predictions: image_index must be in 0..batch-1 and not decrease");
    }
    const auto b = static_cast<std::size_t>(image[n]);
    ++out.begin[b + 1];
    out.box.push_back(
        unmap_box(images.meta[b].to_input.m, {box[4 * n], box[4 * n + 1], box[4 * n + 2], box[4 * n + 3]}));
    out.score.push_back(score[n]);
    double sum = 0;
    for (std::size_t j = 0; j < classes; ++j) sum += prob[n * classes + j];
    for (std::size_t j = 0; j < classes; ++j) out.class_probs.push_back(prob[n * classes + j] / sum);
  }
  for (std::size_t b = 0; b < images.meta.size(); ++b) out.begin[b + 1] += out.begin[b];
  return out;
}

}  // namespace bdc::host
