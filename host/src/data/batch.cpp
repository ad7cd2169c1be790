#include "data/batch.h"

#include <torch/nn.h>

#include <algorithm>
#include <optional>

#include "bdc/base/parallel.h"
#include "data/frames.h"
#include "data/mosaic.h"
#include "data/pixels.h"

namespace bdc::host {
namespace {

constexpr std::size_t kQuarters = 4;

/// The image; empty when it is to be left out.
cv::Mat image_or_nothing(const Dataset& data, std::int64_t index) {
  try {
    return data.image(index);
  } catch (const BrokenImage&) {
    return {};
  }
}

plugin::ImageMeta meta_of(const cv::Mat& image, std::int64_t index, const Placement& placement) {
  plugin::ImageMeta meta;
  meta.index = index;
  meta.original_width = image.cols;
  meta.original_height = image.rows;
  meta.content_width = placement.content_width;
  meta.content_height = placement.content_height;
  meta.to_input.m = placement.to_input;
  return meta;
}

plugin::ImageMeta load_mosaic(const Dataset& data, const cv::Mat& own, std::int64_t index, const MosaicPlan& plan,
                              std::int64_t input_size, const BatchSettings& settings, float* into) {
  plugin::ImageMeta out;
  std::vector<plugin::Tile> tiles;
  const int size = static_cast<int>(input_size);
  cv::Mat picture(size, size, CV_8UC3, cv::Scalar::all(kPadding));
  for (std::size_t q = 0; q < kQuarters; ++q) {
    const std::int64_t part = plan.images[q];
    const cv::Mat image = part == index ? own : image_or_nothing(data, part);
    if (image.empty()) continue;  // its quarter stays grey
    const Augmentation augmentation = draw_augmentation(settings.augment, settings.seed, settings.epoch, part);
    const MosaicTile tile = mosaic_tile(plan, q, augmentation, image.cols, image.rows, input_size);
    draw_tile(image, augmentation, tile, picture);
    tiles.push_back(
        {part, image.cols, image.rows, {tile.to_input}, {tile.area.x1, tile.area.y1, tile.area.x2, tile.area.y2}});
    if (part == index) out = meta_of(own, index, {tile.to_input, input_size, input_size});
  }
  out.tiles = std::move(tiles);
  write_planes(picture, input_size, into);
  return out;
}

/// Loads one image into its place in the batch; nothing when it is to be left out.
std::optional<plugin::ImageMeta> load(const Dataset& data, std::int64_t index, std::int64_t input_size,
                                      const BatchSettings& settings, float* into) {
  const cv::Mat image = image_or_nothing(data, index);
  if (image.empty()) return std::nullopt;
  const auto& augment = settings.augment;
  const MosaicPlan plan = draw_mosaic(augment.mosaic, settings.seed, settings.epoch, index, data.size());
  if (plan.used) return load_mosaic(data, image, index, plan, input_size, settings, into);
  const Augmentation augmentation = draw_augmentation(augment, settings.seed, settings.epoch, index);
  return meta_of(image, index, place_image(image, augmentation, input_size, into));
}

plugin::Images load_images(const Dataset& data, const std::vector<std::int64_t>& indices, std::int64_t input_size,
                           const BatchSettings& settings) {
  const auto count = static_cast<std::int64_t>(indices.size());
  plugin::Images out;
  out.pixels = torch::empty({count, 3, input_size, input_size}, torch::kFloat32);
  float* pixels = out.pixels.data_ptr<float>();
  std::vector<std::optional<plugin::ImageMeta>> loaded(indices.size());
  parallel_chunks(indices.size(), 1, settings.threads, [&](std::size_t i, std::size_t, std::size_t) {
    loaded[i] = load(data, indices[i], input_size, settings,
                     pixels + static_cast<std::int64_t>(i) * 3 * input_size * input_size);
  });
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    if (!loaded[i]) continue;
    kept.push_back(static_cast<std::int64_t>(i));
    out.meta.push_back(std::move(*loaded[i]));
  }
  if (kept.size() < indices.size()) out.pixels = out.pixels.index_select(0, torch::tensor(kept, torch::kInt64));
  return out;
}

std::pair<std::size_t, std::size_t> range(const std::vector<std::size_t>& begin, std::int64_t image) {
  return {begin[static_cast<std::size_t>(image)], begin[static_cast<std::size_t>(image) + 1]};
}

/// Hard targets in the input frame. A crowd's labels are taken as they stand, every box of everybody: the truth, if
/// there is one, is for reports.
plugin::Targets hard_targets(const CrowdData& labels, const std::vector<Frame>& frames) {
  std::vector<double> boxes;
  std::vector<std::int64_t> classes, index;
  for (const Frame& frame : frames) {
    const auto add = [&](const Box& original, std::int32_t label) {
      if (!original.valid()) return;
      const auto box = to_input(frame, original);
      if (!box) return;
      boxes.insert(boxes.end(), {box->x1, box->y1, box->x2, box->y2});
      classes.push_back(label);
      index.push_back(static_cast<std::int64_t>(frame.input));
    };
    if (!labels.annotators.empty()) {
      const auto [from, to] = range(labels.annotation_begin, frame.image);
      for (std::size_t n = from; n < to; ++n) add(labels.annotations[n].box, labels.annotations[n].label);
    } else {
      const auto [from, to] = range(labels.truth_begin, frame.image);
      for (std::size_t n = from; n < to; ++n) {
        if (!labels.truth[n].is_crowd) add(labels.truth[n].box, labels.truth[n].label);
      }
    }
  }
  const auto count = static_cast<std::int64_t>(classes.size());
  return plugin::Targets::hard(torch::tensor(boxes, torch::kFloat64).reshape({count, 4}),
                               torch::tensor(classes, torch::kInt64), torch::tensor(index, torch::kInt64),
                               static_cast<std::int64_t>(labels.classes.size()));
}

plugin::CrowdLabels crowd_labels(const CrowdData& labels, const plugin::Images& images) {
  std::vector<double> boxes;
  std::vector<std::int64_t> classes, annotators, index, seen;
  for (std::size_t b = 0; b < images.meta.size(); ++b) {
    const auto [from, to] = range(labels.annotation_begin, images.meta[b].index);
    for (std::size_t n = from; n < to; ++n) {
      const auto& a = labels.annotations[n];
      boxes.insert(boxes.end(), {a.box.x1, a.box.y1, a.box.x2, a.box.y2});
      classes.push_back(a.label);
      annotators.push_back(a.annotator);
      index.push_back(static_cast<std::int64_t>(b));
    }
    const auto [first, last] = range(labels.assignment_begin, images.meta[b].index);
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

Batch make_batch(const Dataset& data, const std::vector<std::int64_t>& indices, std::int64_t input_size,
                 const BatchSettings& settings) {
  Batch batch;
  batch.images = load_images(data, indices, input_size, settings);
  batch.targets = hard_targets(data.labels(), settings.with_targets ? frames_of(batch.images) : std::vector<Frame>{});
  if (settings.with_crowd && !data.labels().annotators.empty()) batch.crowd = crowd_labels(data.labels(), batch.images);
  return batch;
}

}  // namespace bdc::host
