#include "parts/scene_labels.h"

namespace parts {

Labels labels_of(const Scene& scene, const Tensor& boxes, const Tensor& image_index, const Tensor& weights) {
  torch::NoGradGuard no_grad;
  const Tensor mapped = to_network(boxes, image_index, scene.scale);
  Labels out;
  out.rows = rows_not_smaller(mapped, 1e-3);
  if (weights.defined())
    out.rows = out.rows.index_select(0, (weights.index_select(0, out.rows) > 0).nonzero().squeeze(1));
  out.boxes = mapped.index_select(0, out.rows);
  out.begin = image_begin(image_index.index_select(0, out.rows), scene.batch());
  return out;
}

}  // namespace parts
