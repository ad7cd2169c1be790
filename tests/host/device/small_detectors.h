#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "files/json_file.h"

namespace bdc::host {

/// What goes over the bus in a step.
struct Bus {
  std::int64_t up = 0, down = 0, numbers = 0;
};

/// A plugin with options that make it small enough for a test.
struct SmallDetector {
  std::string name, file;
  Json options;
  Bus in_a_step;  ///< at most, of its own, in a step with four images
};

inline void PrintTo(const SmallDetector& small, std::ostream* out) {
  *out << small.name;
}

inline std::vector<SmallDetector> small_detectors() {
  const auto at = [](const std::string& name) { return BDC_BUILD_FOLDER "/plugins/" + name + ".so"; };
  return {{"minimal", at("minimal"), {{"width", 4}}, {4, 8, 5}},
          {"yolov7", at("yolov7"), {{"variant", "tiny"}, {"width", 0.25}}, {0, 3, 32}},
          {"frcnn",
           at("frcnn"),
           {{"backbone", "resnet18"},
            {"width", 0.25},
            {"pyramid_channels", 16},
            {"head_channels", 32},
            {"anchor_sizes", "8, 16, 32, 64, 128"},
            {"rpn_post_nms_train", 100},
            {"rpn_post_nms_test", 50}},
           {12, 12, 130}},
          {"eva",
           at("eva"),
           {{"size", "ti"},
            {"embed_dim", 32},
            {"depth", 3},
            {"heads", 2},
            {"patch", 8},
            {"window", 4},
            {"pretrain_size", 64},
            {"pyramid_channels", 16},
            {"rpn_convs", 1},
            {"head_convs", 1},
            {"head_width", 32},
            {"train_proposals", 60},
            {"test_proposals", 40},
            {"anchors_per_image", 64},
            {"regions_per_image", 32}},
           {20, 20, 200}}};
}

inline SmallDetector faulty_detector(const std::string& name) {
  return {name, BDC_FIXTURES "/" + name + ".so", {{"width", 4}}, {}};
}

}  // namespace bdc::host
