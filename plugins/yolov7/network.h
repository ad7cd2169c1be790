#pragma once

#include <bdc/plugin/detector.h>
#include <torch/nn.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "yolov7/heads.h"
#include "yolov7/layer_table.h"
#include "yolov7/layers.h"

namespace yolov7 {

/// The network of a table. Parameters are named model.N.*, as in the official checkpoints.
class Network : public torch::nn::Module {
 public:
  /// width: factor of all channels (rounded up to multiples of 8). depth: every 3 x 3 convolution in the chain of an
  /// ELAN block is repeated round(depth) times. anchors: 18 numbers, pixels. Weights are drawn from LibTorch's default
  /// generator.
  Network(const LayerTable& table, std::int64_t num_classes, double width, double depth,
          const std::vector<double>& anchors);

  /// Called with the number and the output of every layer but the last.
  using Watch = std::function<void(std::size_t, const Tensor&)>;

  /// pixels: B x 3 x H x W, 0..1; H and W multiples of 32.
  [[nodiscard]] std::unique_ptr<Heads> forward(const Tensor& pixels, const Watch& watch = {});

  /// Turns the network into its form for inference: the same function with fewer operations. Cannot be undone; a fused
  /// network is not trained, and its parameters have other names.
  void fuse();

  [[nodiscard]] Detect& detect() { return *detect_; }

 private:
  struct Node {
    std::shared_ptr<Layer> layer;
    std::vector<std::size_t> inputs;
  };
  std::vector<Node> nodes_;             ///< all but the head
  std::vector<std::size_t> levels_;     ///< inputs of the head
  std::vector<std::size_t> last_user_;  ///< per layer, the last layer that reads it; outputs are let go after that
  std::shared_ptr<Detect> detect_;
};

}  // namespace yolov7
