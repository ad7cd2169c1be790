#pragma once

#include <cmath>
#include <stdexcept>

namespace bdc::plugin {

inline Affine Affine::inverse() const {
  const double det = m[0] * m[4] - m[1] * m[3];
  if (!(std::abs(det) > 1e-12)) throw std::domain_error("affine map is singular");
  Affine out;
  out.m = {m[4] / det,  -m[1] / det, (m[1] * m[5] - m[4] * m[2]) / det,
           -m[3] / det, m[0] / det,  (m[3] * m[2] - m[0] * m[5]) / det};
  return out;
}

inline torch::Tensor Affine::apply_to_boxes(const torch::Tensor& boxes) const {
  if (boxes.numel() == 0) return boxes.clone();
  const auto x1 = boxes.select(1, 0), y1 = boxes.select(1, 1), x2 = boxes.select(1, 2), y2 = boxes.select(1, 3);
  const auto xs = torch::stack({x1, x2, x1, x2}, 1), ys = torch::stack({y1, y1, y2, y2}, 1);
  const auto u = xs * m[0] + ys * m[1] + m[2], v = xs * m[3] + ys * m[4] + m[5];
  return torch::stack({std::get<0>(u.min(1)), std::get<0>(v.min(1)), std::get<0>(u.max(1)), std::get<0>(v.max(1))}, 1);
}

inline Targets Targets::hard(const torch::Tensor& boxes, const torch::Tensor& labels, const torch::Tensor& image_index,
                             std::int64_t num_classes) {
  Targets out;
  out.boxes = boxes.to(torch::kFloat32);
  out.class_probs = torch::zeros({labels.size(0), num_classes}, torch::kFloat32);
  if (labels.size(0) > 0) out.class_probs.scatter_(1, labels.unsqueeze(1), 1.0);
  out.weights = torch::ones({labels.size(0)}, torch::kFloat32);
  out.image_index = image_index.to(torch::kInt64);
  return out;
}

inline Targets Targets::to(const torch::Device& device) const {
  return {boxes.to(device), class_probs.to(device), weights.to(device), image_index.to(device)};
}

inline void Targets::validate(std::int64_t batch, std::int64_t num_classes) const {
  const auto require = [](bool ok, const char* law) {
    if (!ok) throw std::invalid_argument(std::string("targets: ") + law);
  };
  require(boxes.defined() && class_probs.defined() && weights.defined() && image_index.defined(),
          "boxes, class_probs, weights and image_index must all be set");
  const std::int64_t n = boxes.dim() == 2 ? boxes.size(0) : -1;
  require(n >= 0 && boxes.size(1) == 4, "boxes must be T x 4");
  require(class_probs.dim() == 2 && class_probs.size(0) == n && class_probs.size(1) == num_classes,
          "class_probs must be T x number of classes");
  require(weights.dim() == 1 && weights.size(0) == n, "weights must have T entries");
  require(image_index.dim() == 1 && image_index.size(0) == n, "image_index must have T entries");
  require(boxes.scalar_type() == torch::kFloat32 && class_probs.scalar_type() == torch::kFloat32 &&
              weights.scalar_type() == torch::kFloat32 && image_index.scalar_type() == torch::kInt64,
          "boxes, class_probs and weights must be float32, image_index int64");
  if (n == 0) return;
  const auto all = [](const torch::Tensor& t) { return t.all().item<bool>(); };
  require(all(torch::isfinite(boxes)), "boxes must be finite");
  require(all(boxes.select(1, 2) > boxes.select(1, 0)) && all(boxes.select(1, 3) > boxes.select(1, 1)),
          "boxes must have x1 < x2 and y1 < y2");
  require(all(torch::isfinite(class_probs)) && all(class_probs >= 0), "class_probs must be finite and not negative");
  require(all((class_probs.sum(1) - 1).abs() < 1e-3), "class_probs must sum to 1 in every row");
  require(all(torch::isfinite(weights)) && all(weights >= 0), "weights must be finite and not negative");
  require(all((image_index >= 0) & (image_index < batch)), "image_index must be in 0..batch-1");
  require(n < 2 || all(image_index.slice(0, 1) >= image_index.slice(0, 0, n - 1)), "image_index must not decrease");
}

}  // namespace bdc::plugin
