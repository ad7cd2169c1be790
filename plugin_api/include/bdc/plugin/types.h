#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bdc::plugin {

/// Maps points of an image's original frame to the detector's input frame:
/// x' = m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y + m[5]. Every geometric step of loading is folded into it.
struct Affine {
  std::array<double, 6> m{1, 0, 0, 0, 1, 0};

  /// Throws std::domain_error when the map is singular.
  [[nodiscard]] Affine inverse() const;
  /// Boxes N x 4 (xyxy) through the map: the axis-aligned box around the mapped corners. Same dtype as the input.
  [[nodiscard]] torch::Tensor apply_to_boxes(const torch::Tensor& boxes) const;
};

/// One of several images in an input.
struct Tile {
  std::int64_t index = 0;  ///< in the data set
  std::int64_t original_width = 0, original_height = 0;
  Affine to_input;               ///< its own original frame -> input frame
  std::array<double, 4> area{};  ///< x1, y1, x2, y2: the part of the input that it may cover
};

/// Where one image of a batch came from.
struct ImageMeta {
  std::int64_t index = 0;  ///< in the data set
  std::int64_t original_width = 0, original_height = 0;
  std::int64_t content_width = 0,
               content_height = 0;  ///< part of the input that is image, from the top left; the rest is padding
  Affine to_input;                  ///< original frame -> input frame
  /// Every image of a mosaic, the one above among them. Empty where the input shows one image.
  std::vector<Tile> tiles{};
};

/// The pixels of a batch: B x 3 x H x W, float32, RGB, 0..1, not normalised further. H and W are multiples of the
/// stride.
struct Images {
  torch::Tensor pixels;
  std::vector<ImageMeta> meta;  ///< B
};

/// What a detector sees in a batch. Flat over the batch, best score first inside an image.
struct Predictions {
  torch::Tensor boxes;        ///< N x 4 float32, xyxy, pixels of the input frame
  torch::Tensor scores;       ///< N float32, 0..1: how sure it is of an object of its likeliest class
  torch::Tensor class_probs;  ///< N x J float32, rows sum to 1
  torch::Tensor image_index;  ///< N int64, 0..B-1, not decreasing
};

/// What a detector finds in a batch, one label each. Flat over the batch, best score first inside an image.
struct Detections {
  torch::Tensor boxes;        ///< N x 4 float32, xyxy, pixels of the input frame
  torch::Tensor labels;       ///< N int64, 0..J-1
  torch::Tensor scores;       ///< N float32, 0..1; AP ranks by it
  torch::Tensor image_index;  ///< N int64, 0..B-1, not decreasing
};

/// What a detector is trained on. Flat over the batch; T may be 0.
struct Targets {
  torch::Tensor boxes;        ///< T x 4 float32, xyxy, pixels of the input frame
  torch::Tensor class_probs;  ///< T x J float32, rows sum to 1
  torch::Tensor weights;      ///< T float32, >= 0
  torch::Tensor image_index;  ///< T int64, 0..B-1, not decreasing

  /// One-hot class vectors and weight 1 from integer labels.
  [[nodiscard]] static Targets hard(const torch::Tensor& boxes, const torch::Tensor& labels,
                                    const torch::Tensor& image_index, std::int64_t num_classes);
  [[nodiscard]] std::int64_t size() const { return boxes.defined() ? boxes.size(0) : 0; }
  [[nodiscard]] Targets to(const torch::Device& device) const;
  /// Throws std::invalid_argument, naming the member and the law, unless all of the above holds for `batch` images and
  /// `num_classes` classes. The host calls it on what hooks leave behind.
  void validate(std::int64_t batch, std::int64_t num_classes) const;
};

/// Integer labels without weights, for the detector's ordinary loss.
struct HardTargets {
  torch::Tensor boxes;        ///< T x 4 float32, xyxy, pixels of the input frame
  torch::Tensor labels;       ///< T int64
  torch::Tensor image_index;  ///< T int64
};

/// What annotators drew in the images of a batch, in each image's ORIGINAL frame (pixels), untouched by augmentation.
struct CrowdLabels {
  torch::Tensor boxes;        ///< A x 4 float64, xyxy
  torch::Tensor labels;       ///< A int64
  torch::Tensor annotators;   ///< A int64
  torch::Tensor image_index;  ///< A int64, 0..B-1
  /// S x 2 int64 rows (image_index, annotator): who saw which image, even if nothing was drawn.
  torch::Tensor assignments;
};

/// What a loss gives back: the differentiable total and its named parts, for the log. The parts should add up to the
/// total: they are shown beside it.
struct LossTerms {
  torch::Tensor total;                                       ///< scalar
  std::vector<std::pair<std::string, torch::Tensor>> parts;  ///< detached scalars
};

}  // namespace bdc::plugin

#include "bdc/plugin/detail/types_impl.h"
