#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "files/json_file.h"

namespace bdc::host {

/// How one network is trained.
struct NetworkTraining {
  std::int64_t epochs = 5, batch = 16;
  double learning_rate = 0.001;
  std::string optimizer = "sgd";  ///< "sgd" (momentum 0.9) or "adamw"; the rate falls along a cosine
  std::string weights;            ///< a file to start from, torchvision's names; empty: from scratch
};

/// A network that names the class of a crop.
struct ClassifierSettings {
  std::string kind = "resnet50";  ///< "alexnet", "vgg16" or "resnet50"
  double width = 1;               ///< factor of all channels
  std::int64_t crop = 224;        ///< edge that crops are resized to, pixels
  NetworkTraining training;
};

/// A region proposal network.
struct ProposalSettings {
  std::string backbone = "resnet50";  ///< "resnet18", "resnet34", "resnet50" or "resnet101"
  double width = 1;                   ///< factor of the backbone's channels
  std::int64_t pyramid = 256;         ///< channels of the feature pyramid
  std::int64_t input = 800;           ///< longer edge that images are resized to, pixels
  double anchor = 32;                 ///< edge of the smallest anchors; those of each coarser level are twice as large
  std::int64_t sample = 256;          ///< anchors of an image in the loss; at most half of them are objects
  std::string norm = "batch";         ///< "batch", "group", or "frozen" for pretrained weights
  NetworkTraining training;
};

struct SkillNetworks {
  ClassifierSettings classifier;
  ProposalSettings rpn;
  // What they are trained and measured on.
  std::uint64_t seed = 1;
  double held_out = 0.25;        ///< share of the images whose crops measure the classifier and do not train it
  std::int64_t backgrounds = 1;  ///< crops of background per image
};

/// What "networks" of a crowd says (docs/synth.md).
struct NetworkSettings {
  std::int64_t proposals = 100;  ///< best of an image that boxes are drawn from
  double nms = 0.7;              ///< IoU above which the weaker of two proposals is dropped
  double dirichlet_scale = 1;    ///< factor of the counts; below 1, annotators of a skill differ more
  std::string device = "cpu";
  std::map<std::string, SkillNetworks> skills;  ///< poor, average, expert, and those that were named
};

/// Settings from a JSON object with defaults of a size: "published" (the paper's pairs: AlexNet and ResNet-18, VGG16
/// and ResNet-50, ResNet50 and ResNet-101, full width) or "small" (the same pairs, narrow, for images of 100 pixels),
/// unless the object names another "size". `seed` is theirs unless they name one. Throws UserError (exit 3).
[[nodiscard]] NetworkSettings parse_network_settings(const Json& json, const std::string& where,
                                                     const std::string& size, std::uint64_t seed);

/// The same for one skill: {"classifier", "rpn", "seed", "held_out", "backgrounds"}; what is not said is as in `base`.
[[nodiscard]] SkillNetworks parse_skill_networks(const Json& json, const std::string& where, const SkillNetworks& base);

/// What parse_skill_networks reads.
[[nodiscard]] Json to_json(const SkillNetworks& networks);

}  // namespace bdc::host
