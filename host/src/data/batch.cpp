#include "data/batch.h"

#include <torch/nn.h>

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "bdc/core/parallel.h"

namespace bdc::host {
namespace {

/// Puts one image into its place in the batch and tells where it went.
plugin::ImageMeta place(const Dataset& data, std::int64_t index, std::int64_t input_size, float* into) {
  cv::Mat image = data.image(index);
  plugin::ImageMeta meta;
  meta.index = index;
  meta.original_width = image.cols;
  meta.original_height = image.rows;
  const double scale =
      std::min(static_cast<double>(input_size) / image.cols, static_cast<double>(input_size) / image.rows);
  const int width = std::clamp(static_cast<int>(std::lround(image.cols * scale)), 1, static_cast<int>(input_size));
  const int height = std::clamp(static_cast<int>(std::lround(image.rows * scale)), 1, static_cast<int>(input_size));
  if (width != image.cols || height != image.rows) {
    cv::Mat resized;
    cv::resize(image, resized, {width, height}, 0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
    image = resized;
  }
  meta.content_width = width;
  meta.content_height = height;
  meta.to_input.m = {static_cast<double>(width) / static_cast<double>(meta.original_width),   0, 0, 0,
                     static_cast<double>(height) / static_cast<double>(meta.original_height), 0};
  const std::int64_t plane = input_size * input_size;
  std::fill(into, into + 3 * plane, 114.0f / 255.0f);
  for (int y = 0; y < height; ++y) {
    const auto* row = image.ptr<cv::Vec3b>(y);
    float* out = into + y * input_size;
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) out[c * plane + x] = static_cast<float>(row[x][c]) / 255.0f;
    }
  }
  return meta;
}

template <class Row>
std::pair<std::size_t, std::size_t> range(const std::vector<std::size_t>& begin, std::int64_t image,
                                          const std::vector<Row>&) {
  return {begin[static_cast<std::size_t>(image)], begin[static_cast<std::size_t>(image) + 1]};
}

plugin::Targets truth_targets(const CrowdData& labels, const plugin::Images& images) {
  std::vector<torch::Tensor> boxes, classes, index;
  for (std::size_t b = 0; b < images.meta.size(); ++b) {
    std::vector<double> flat;
    std::vector<std::int64_t> label;
    const auto [from, to] = range(labels.truth_begin, images.meta[b].index, labels.truth);
    for (std::size_t n = from; n < to; ++n) {
      const auto& t = labels.truth[n];
      if (t.is_crowd || !t.box.valid()) continue;
      flat.insert(flat.end(), {t.box.x1, t.box.y1, t.box.x2, t.box.y2});
      label.push_back(t.label);
    }
    const auto count = static_cast<std::int64_t>(label.size());
    boxes.push_back(images.meta[b].to_input.apply_to_boxes(torch::tensor(flat, torch::kFloat64).reshape({count, 4})));
    classes.push_back(torch::tensor(label, torch::kInt64));
    index.push_back(torch::full({count}, static_cast<std::int64_t>(b), torch::kInt64));
  }
  return plugin::Targets::hard(torch::cat(boxes), torch::cat(classes), torch::cat(index),
                               static_cast<std::int64_t>(labels.classes.size()));
}

plugin::CrowdLabels crowd_labels(const CrowdData& labels, const plugin::Images& images) {
  std::vector<double> boxes;
  std::vector<std::int64_t> classes, annotators, index, seen;
  for (std::size_t b = 0; b < images.meta.size(); ++b) {
    const auto [from, to] = range(labels.annotation_begin, images.meta[b].index, labels.annotations);
    for (std::size_t n = from; n < to; ++n) {
      const auto& a = labels.annotations[n];
      boxes.insert(boxes.end(), {a.box.x1, a.box.y1, a.box.x2, a.box.y2});
      classes.push_back(a.label);
      annotators.push_back(a.annotator);
      index.push_back(static_cast<std::int64_t>(b));
    }
    const auto [first, last] = range(labels.assignment_begin, images.meta[b].index, labels.assignments);
    for (std::size_t n = first; n < last; ++n) {
      seen.insert(seen.end(), {static_cast<std::int64_t>(b), labels.assignments[n].annotator});
    }
  }
  const auto count = static_cast<std::int64_t>(classes.size());
  return {torch::tensor(boxes, torch::kFloat64).reshape({count, 4}), torch::tensor(classes, torch::kInt64),
          torch::tensor(annotators, torch::kInt64), torch::tensor(index, torch::kInt64),
          torch::tensor(seen, torch::kInt64).reshape({static_cast<std::int64_t>(seen.size() / 2), 2})};
}

}  // namespace

Batch make_batch(const Dataset& data, const std::vector<std::int64_t>& indices, std::int64_t input_size) {
  Batch batch;
  const auto count = indices.size();
  batch.images.pixels = torch::empty({static_cast<std::int64_t>(count), 3, input_size, input_size}, torch::kFloat32);
  batch.images.meta.resize(count);
  float* pixels = batch.images.pixels.data_ptr<float>();
  parallel_chunks(count, 1, 0, [&](std::size_t i, std::size_t, std::size_t) {
    batch.images.meta[i] =
        place(data, indices[i], input_size, pixels + static_cast<std::int64_t>(i) * 3 * input_size * input_size);
  });
  batch.targets = truth_targets(data.labels(), batch.images);
  if (!data.labels().annotators.empty()) batch.crowd = crowd_labels(data.labels(), batch.images);
  return batch;
}

}  // namespace bdc::host
