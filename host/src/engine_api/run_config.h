#pragma once

/// The settings of a run as typed structs. Each row below is one key of a config: it declares the member, and the
/// schema (cli/config/schema.cpp) takes name, type, default, limits and help from the same row. A new key is one row.
///
///   KEY(kind, name, default, help, limits...)
///
/// kind is Flag, Integer, Number, Text, or Path and Paths (a file or folder; several with commas), which are made
/// absolute so that a run can be used from any folder. PluginInteger, PluginNumber and PluginText may be null, which
/// is their default and means what the detector recommends: BDC_RECOMMENDED(member of plugin::DetectorInfo) stands in
/// place of `default`. In a config that the engine is given every one of them has a value.
/// limits: between(low, high), at_least(low), or one_of({...}).

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "bdc/plugin/info.h"
#include "bdc/plugin/options.h"

namespace bdc::host {

using Flag = bool;
using Integer = std::int64_t;
using Number = double;
using Text = std::string;
using Path = std::string;
using Paths = std::string;
using PluginInteger = std::optional<std::int64_t>;
using PluginNumber = std::optional<double>;
using PluginText = std::optional<std::string>;

#define BDC_RECOMMENDED(member) [](const plugin::DetectorInfo& info) { return info.member; }

// clang-format off
#define BDC_CROWD_KEYS(KEY)                                                                                            \
  KEY(Integer, experts, 0, "simulated annotators of high skill", between(0, 10000))                                    \
  KEY(Integer, average, 0, "simulated annotators of ordinary skill", between(0, 10000))                                \
  KEY(Integer, poor, 0, "simulated annotators who often err", between(0, 10000))                                       \
  KEY(Integer, random, 0, "simulated annotators who guess", between(0, 10000))                                         \
  KEY(Number, share, 1.0, "share of the images that each of them sees", between(0.001, 1))

#define BDC_SHAPES_KEYS(KEY)                                                                                           \
  KEY(Integer, train_images, 400, "images to train on", between(1, 1000000))                                           \
  KEY(Integer, test_images, 100, "held-out images to evaluate on", between(1, 1000000))                                \
  KEY(Integer, classes, 4, "kinds of shapes", between(1, 12))                                                          \
  KEY(Integer, size, 96, "edge of the square images in pixels", between(32, 4096))                                     \
  KEY(Integer, max_objects, 3, "most shapes per image", between(1, 50))                                                \
  KEY(Integer, seed, 1, "seed of the images", at_least(0))

#define BDC_DATA_KEYS(KEY)                                                                                             \
  KEY(Text, source, "auto", "auto: files when data.labels is set, otherwise the built-in shapes",                      \
      one_of({"auto", "shapes", "files"}))                                                                             \
  KEY(Paths, labels, "", "labels of the training images: a file or folder, or several, comma-separated")               \
  KEY(Path, images, "", "folder with the training images")                                                             \
  KEY(Text, format, "", "format of the labels (docs/formats.md); empty: detected", one_of(label_formats()))            \
  KEY(Text, role, "auto", "auto: labels of a single annotator are the truth, others a crowd's",                        \
      one_of({"auto", "crowd", "truth"}))                                                                              \
  KEY(Text, split, "", "part of data.labels to train on, where they are divided: train, val or test; empty: all",       \
      one_of({"", "train", "val", "test"}))                                                                            \
  KEY(Path, class_names, "", "classes.txt or data.yaml, for labels without class names")                               \
  KEY(Path, truth, "", "true boxes of the training images, for reports only")                                          \
  KEY(Paths, val_labels, "", "labels of the images to evaluate on")                                                    \
  KEY(Text, val_split, "", "part of data.val_labels to evaluate on; empty: all",                                        \
      one_of({"", "train", "val", "test"}))                                                                            \
  KEY(Path, val_images, "", "folder with the images to evaluate on; empty: data.images")                               \
  KEY(Number, val_share, 0.0, "share of the training images to evaluate on instead", between(0, 0.9))                  \
  KEY(Integer, split_seed, 0, "seed of the choice of data.val_share", at_least(0))                                     \
  KEY(Flag, strict, false, "a missing or broken image stops the run instead of being left out")                        \
  KEY(Integer, max_megapixels, 128, "larger images are refused", between(1, 2000))                                     \
  KEY(Integer, cache_mb, 256, "memory for decoded images; 0: none", between(0, 1000000))                               \
  KEY(Integer, workers, 2, "threads that load batches ahead, at most one per core; 0: none", between(0, 256))

#define BDC_AUGMENT_KEYS(KEY)                                                                                          \
  KEY(Number, rotate, 0.0, "largest angle, degrees", between(0, 180))                                                  \
  KEY(Number, translate, 0.0, "largest shift, as a share of the image's size", between(0, 0.9))                        \
  KEY(Number, zoom, 0.0, "size changes by a factor of 1 - zoom .. 1 + zoom", between(0, 0.9))                          \
  KEY(Number, shear, 0.0, "largest angle, degrees", between(0, 60))                                                    \
  KEY(Number, flip_x, 0.0, "probability of a left-right flip", between(0, 1))                                          \
  KEY(Number, flip_y, 0.0, "probability of an upside-down flip", between(0, 1))                                        \
  KEY(Number, hue, 0.0, "largest shift, as a share of the colour circle", between(0, 0.5))                             \
  KEY(Number, saturation, 0.0, "saturation changes by a factor of 1 - s .. 1 + s", between(0, 1))                      \
  KEY(Number, value, 0.0, "brightness changes by a factor of 1 - v .. 1 + v", between(0, 1))                           \
  KEY(Number, mosaic, 0.0, "probability that an image becomes one of four in a mosaic", between(0, 1))

#define BDC_TRAIN_KEYS(KEY)                                                                                            \
  KEY(Integer, epochs, 10, "passes over the training images", between(1, 100000))                                      \
  KEY(Path, weights, "", "weights to start from: safetensors, or a .pt file from torch.save")                          \
  KEY(Flag, partial_weights, false, "take train.weights although hardly any of them fit the detector")                 \
  KEY(PluginInteger, batch_size, BDC_RECOMMENDED(optimizer.batch_size), "images per batch", between(1, 4096))          \
  KEY(PluginInteger, input_size, BDC_RECOMMENDED(input_size), "edge of the detector's square input in pixels",         \
      between(32, 8192))                                                                                               \
  KEY(PluginText, optimizer, BDC_RECOMMENDED(optimizer.kind), "how weights are updated", one_of({"sgd", "adamw"}))     \
  KEY(PluginNumber, learning_rate, BDC_RECOMMENDED(optimizer.learning_rate), "at the start, after warm-up",            \
      between(0, 1000))                                                                                                \
  KEY(PluginNumber, momentum, BDC_RECOMMENDED(optimizer.momentum), "momentum of sgd", between(0, 1))                   \
  KEY(Flag, nesterov, false, "Nesterov momentum for sgd")                                                              \
  KEY(PluginNumber, weight_decay, BDC_RECOMMENDED(optimizer.weight_decay), "pull of the weights towards zero",         \
      between(0, 1000))                                                                                                \
  KEY(Text, schedule, "cosine", "learning rate schedule after warm-up",                                                \
      one_of({"cosine", "linear", "step", "constant"}))                                                                \
  KEY(Number, final_share, 0.01, "share of the learning rate left at the end (cosine, linear)", between(0, 1))         \
  KEY(Integer, warmup_steps, 20, "steps in which the learning rate grows from zero", between(0, 1000000))              \
  KEY(Integer, accumulate, 1, "batches whose gradients are added up for one step", between(1, 4096))                   \
  KEY(Number, ema_decay, 0.9999, "decay of the averaged weights (EMA) that are evaluated; 0: none", between(0, 1))     \
  KEY(Number, hook_min_score, 0.1, "predictions with lower scores are not shown to hooks", between(0, 1))              \
  KEY(Number, hook_nms_iou, 0.6, "IoU above which hooks see only the better of two predictions", between(0, 1))        \
  KEY(Integer, hook_max_per_image, 100, "most predictions per image for hooks", between(1, 10000))                     \
  KEY(Integer, patience, 0, "epochs without a better AP before training stops; 0: never", between(0, 100000))          \
  KEY(Integer, checkpoint_every, 0, "steps between checkpoints; 0: at the end of an epoch", at_least(0))               \
  KEY(Number, clip_norm, 10.0, "largest norm of the gradient; 0: no limit", at_least(0))                               \
  KEY(Integer, seed, 0, "seed of weights, order and sampling", at_least(0))                                            \
  KEY(Integer, threads, 0, "LibTorch's threads; 0: all cores", between(0, 1024))                                       \
  KEY(Text, device, "auto", "cpu, cuda or cuda:N; auto: CUDA if available")                                            \
  KEY(Flag, amp, false, "half precision where that is safe (float16 on CUDA, bfloat16 on the CPU)")                    \
  KEY(Flag, sync_batchnorm, false, "batch norm sees the images of all processes that train together, not its own")     \
  KEY(Integer, timeout, 60, "seconds that processes that train together wait for one another", between(1, 86400))      \
  KEY(Integer, evaluate_every, 1, "epochs between evaluations; the last epoch is always evaluated", at_least(1))

#define BDC_EVALUATE_KEYS(KEY)                                                                                         \
  KEY(PluginNumber, min_score, BDC_RECOMMENDED(detections.min_score), "detections with lower scores are left out",     \
      between(0, 1))                                                                                                   \
  KEY(PluginNumber, nms_iou, BDC_RECOMMENDED(detections.nms_iou),                                                      \
      "IoU above which the weaker of two boxes is dropped",                                                            \
      between(0, 1))                                                                                                   \
  KEY(PluginInteger, max_per_image, BDC_RECOMMENDED(detections.max_per_image),                                         \
      "most detections per image", between(1, 10000))

#define BDC_OUTPUT_KEYS(KEY)                                                                                           \
  KEY(Text, folder, "runs", "where run folders are created")                                                           \
  KEY(Text, name, "", "name of the run folder; empty: the plugin's name and a number")
// clang-format on

namespace detail {
/// The default of a member: null for what a plugin recommends.
template <class Kind, class Value>
[[nodiscard]] Kind start_value(const Value& value) {
  if constexpr (std::is_same_v<Kind, PluginInteger> || std::is_same_v<Kind, PluginNumber> ||
                std::is_same_v<Kind, PluginText>) {
    return {};
  } else {
    return value;
  }
}
}  // namespace detail

#define BDC_MEMBER(kind, name, value, ...) kind name = detail::start_value<kind>(value);

struct SimulatedCrowdConfig {
  BDC_CROWD_KEYS(BDC_MEMBER)
};
struct ShapesConfig {
  BDC_SHAPES_KEYS(BDC_MEMBER)
  SimulatedCrowdConfig crowd;
};
struct DataConfig {
  BDC_DATA_KEYS(BDC_MEMBER)
  ShapesConfig shapes;
};
struct AugmentConfig {
  BDC_AUGMENT_KEYS(BDC_MEMBER)
};
struct TrainConfig {
  BDC_TRAIN_KEYS(BDC_MEMBER)
  AugmentConfig augment;
};
struct EvaluateConfig {
  BDC_EVALUATE_KEYS(BDC_MEMBER)
};
struct OutputConfig {
  BDC_OUTPUT_KEYS(BDC_MEMBER)
};

#undef BDC_MEMBER

/// A detector and its checked options.
struct PluginChoice {
  std::string name;
  plugin::Options options;
};

/// A hook of the run, its place in the order and its checked options.
struct HookChoice {
  std::string name;
  int priority = 50;
  plugin::Options options;
};

struct RunConfig {
  PluginChoice plugin;
  std::vector<HookChoice> hooks;
  DataConfig data;
  TrainConfig train;
  EvaluateConfig evaluate;
  OutputConfig output;
};

}  // namespace bdc::host
