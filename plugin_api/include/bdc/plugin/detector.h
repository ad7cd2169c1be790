#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "bdc/plugin/info.h"
#include "bdc/plugin/types.h"

namespace bdc::plugin {

/// Whatever a forward pass leaves for decode and loss. Each detector derives its own; only it looks inside.
class Activations {
 public:
  virtual ~Activations() = default;
};

/// Parameters that share their optimiser settings, as factors of the run's.
struct ParameterGroup {
  std::string name;
  std::vector<torch::Tensor> parameters;
  double learning_rate_factor = 1.0;
  double weight_decay_factor = 1.0;
};

/// A trainable object detector. One forward pass serves the predictions and the loss, and training hooks stand between:
///
///     activations = forward(images)               with gradient when training
///     predictions = decode(*activations, limits)  without gradient
///     ...hooks may replace the targets, BDC does...
///     terms       = loss(*activations, targets)   soft class vectors and weights
///
/// Predictions serve two purposes. decode is for the consensus, where a detector is one annotator among others: one
/// box per object, with all that the detector knows about its class. decode_detections is for AP and for users: what
/// the detector's authors would report.
///
/// Laws, checked by `bdc-host plugins doctor`:
/// - A target with a one-hot class vector and weight 1 gives exactly hard_loss.
/// - A target of weight 0 has no pull: neither its class nor its box reaches a gradient.
/// - A batch without targets has a finite, differentiable loss.
/// - All randomness comes from LibTorch's default generator: the same seed gives the same bits.
/// - All state is in module(): copying its parameters and buffers copies the detector.
/// With train.amp, forward, loss and both ways to decode run under LibTorch's autocast: what convolutions and matrix
/// products give is then half precision, and a detector casts to float32 where that is not enough. May throw std:: or
/// c10:: exceptions; the host reports them with the plugin's name and the stage. One thread at a time uses a detector,
/// not always the same one.
class Detector {
 public:
  virtual ~Detector() = default;

  /// All parameters and buffers. Owned by the detector.
  [[nodiscard]] virtual torch::nn::Module& module() = 0;

  [[nodiscard]] virtual std::unique_ptr<Activations> forward(const Images& images) = 0;

  /// For the consensus: class-agnostic suppression, and the full class vector of every box that is left.
  [[nodiscard]] virtual Predictions decode(const Activations& activations, const DecodeOptions& options) = 0;

  /// For AP and for users: the detector's published post-processing. A box may come with several labels, a class may
  /// have boxes of its own, and suppression is usually by class. Without an override: the boxes of decode, each with
  /// its likeliest class. `options` are those of DetectorInfo::detections unless the user's config has others.
  [[nodiscard]] virtual Detections decode_detections(const Activations& activations, const DecodeOptions& options) {
    const Predictions seen = decode(activations, options);
    return {seen.boxes, seen.class_probs.argmax(1), seen.scores, seen.image_index};
  }

  /// `targets` has been validated and is on the detector's device.
  [[nodiscard]] virtual LossTerms loss(const Activations& activations, const Targets& targets) = 0;

  /// The detector's ordinary loss on integer labels, written down without class vectors or weights. Training never
  /// calls it; it is what loss() is checked against.
  [[nodiscard]] virtual LossTerms hard_loss(const Activations& activations, const HardTargets& targets) = 0;

  /// Default: weight decay on tensors of two or more dimensions only (not on biases and norms).
  [[nodiscard]] virtual std::vector<ParameterGroup> parameter_groups() {
    ParameterGroup decay{"weights", {}, 1.0, 1.0}, plain{"biases and norms", {}, 1.0, 0.0};
    for (const auto& p : module().parameters()) {
      if (p.requires_grad()) (p.dim() > 1 ? decay : plain).parameters.push_back(p);
    }
    return {decay, plain};
  }

  /// Turns the detector into its fastest form for prediction (fused layers and the like), in evaluation mode. What it
  /// predicts stays the same but for rounding. Called at most once, after the weights are in place; afterwards only
  /// forward without gradient, decode and decode_detections are called: module() may have other parameters. Default:
  /// nothing.
  virtual void prepare_for_inference() {}

  /// Fits what is not learnt by gradient (anchors, say) to the training boxes. sizes: N x 2, width and height in pixels
  /// of the input. Called once before the first step of a new run, not of a resumed one: what changes is state in
  /// module(). Default: nothing.
  virtual void adapt_to_boxes(const torch::Tensor& /*sizes*/) {}
};

}  // namespace bdc::plugin
