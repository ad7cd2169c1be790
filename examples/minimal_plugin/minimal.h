#pragma once

// The smallest detector that truly learns: five convolutions and an anchor-free grid with one cell per 8 x 8 pixels.
// Each cell says how sure it is of an object, which class, and how far the box's four edges are from the cell's centre.
// docs/tutorial-plugin.md walks through this file.

#include <bdc/plugin/boxes.h>
#include <bdc/plugin/detector.h>
#include <bdc/plugin/ranks.h>
#include <torch/nn.h>
#include <torch/utils.h>

namespace minimal {

using bdc::plugin::Activations;
using bdc::plugin::DetectorConfig;
using bdc::plugin::DetectorInfo;
using bdc::plugin::HardTargets;
using bdc::plugin::Images;
using bdc::plugin::LossTerms;
using bdc::plugin::Predictions;
using bdc::plugin::Targets;
using torch::Tensor;

constexpr std::int64_t kStride = 8;

struct NetImpl : torch::nn::Module {
  NetImpl(std::int64_t width, std::int64_t outputs) {
    const auto conv = [](std::int64_t in, std::int64_t out, std::int64_t stride) {
      return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false));
    };
    const std::int64_t channels[] = {3, width, 2 * width, 4 * width, 4 * width, 4 * width};
    for (int i = 0; i < 5; ++i) {
      body->push_back(conv(channels[i], channels[i + 1], i < 3 ? 2 : 1));
      body->push_back(torch::nn::BatchNorm2d(channels[i + 1]));
      body->push_back(torch::nn::SiLU());
    }
    register_module("body", body);
    head = register_module("head", torch::nn::Conv2d(torch::nn::Conv2dOptions(4 * width, outputs, 1)));
    torch::NoGradGuard frozen;
    head->bias.zero_();
    head->bias[0] = -3.0;  // most cells are empty
  }
  Tensor forward(const Tensor& x) { return head->forward(body->forward(x * 2 - 1)); }
  torch::nn::Sequential body;
  torch::nn::Conv2d head{nullptr};
};
TORCH_MODULE(Net);

// What the grid says, one row per cell of the batch.
struct Grid : Activations {
  std::int64_t batch = 0, cells = 0;  // images; cells per image
  Tensor objectness;                  // R logits, R = batch * cells
  Tensor classes;                     // R x J logits
  Tensor boxes;                       // R x 4, input frame
  Tensor centres;                     // cells x 2
};

class Detector : public bdc::plugin::Detector, public bdc::plugin::SharesBatches {
 public:
  static DetectorInfo describe() {
    DetectorInfo info;
    info.version = "1.0.0";
    info.description = "Example: an anchor-free grid on five convolutions";
    info.input_size = 96;
    info.min_input_size = 32;
    info.stride = kStride;
    info.optimizer = {"adamw", 0.004, 0.9, 0.01, 16};
    info.options = {bdc::plugin::int_option("width", 16, "channels of the first layer", 4, 256),
                    bdc::plugin::number_option("box_gain", 2.0, "weight of the box loss", 0.0, 100.0)};
    return info;
  }

  explicit Detector(const DetectorConfig& config)
      : classes_(config.num_classes),
        box_gain_(config.options.get_number("box_gain")),
        net_(config.options.get_int("width"), 5 + config.num_classes) {}

  torch::nn::Module& module() override { return *net_; }

  std::unique_ptr<Activations> forward(const Images& images) override {
    const Tensor out = net_->forward(images.pixels);  // B x (1 + 4 + J) x h x w
    const std::int64_t h = out.size(2), w = out.size(3);
    const Tensor rows = out.permute({0, 2, 3, 1}).reshape({-1, 5 + classes_});
    auto grid = std::make_unique<Grid>();
    grid->batch = out.size(0);
    grid->cells = h * w;
    const auto axis = [&](std::int64_t n) { return (torch::arange(n, out.options()) + 0.5) * kStride; };
    const auto yx = torch::meshgrid({axis(h), axis(w)}, "ij");
    grid->centres = torch::stack({yx[1].flatten(), yx[0].flatten()}, 1);
    grid->objectness = rows.select(1, 0);
    const Tensor reach = rows.slice(1, 1, 5).clamp(-4, 5).exp() * kStride;  // left, top, right, bottom
    const Tensor at = grid->centres.repeat({grid->batch, 1});
    grid->boxes = torch::cat({at - reach.slice(1, 0, 2), at + reach.slice(1, 2, 4)}, 1);
    grid->classes = rows.slice(1, 5);
    return grid;
  }

  Predictions decode(const Activations& activations, const bdc::plugin::DecodeOptions& limits) override {
    torch::NoGradGuard no_grad;
    const auto& grid = static_cast<const Grid&>(activations);
    const Tensor classes = grid.classes.softmax(1), score = grid.objectness.sigmoid() * std::get<0>(classes.max(1));
    std::vector<Tensor> rows, image;
    for (std::int64_t b = 0; b < grid.batch; ++b) {
      const Tensor mine = score.slice(0, b * grid.cells, (b + 1) * grid.cells);
      const Tensor sure = (mine > limits.min_score).nonzero().squeeze(1) + b * grid.cells;
      const Tensor kept = bdc::plugin::suppress(grid.boxes.index_select(0, sure), score.index_select(0, sure),
                                                limits.nms_iou, limits.max_per_image);
      rows.push_back(sure.index_select(0, kept.to(sure.device())));
      image.push_back(torch::full_like(rows.back(), b));
    }
    const Tensor row = torch::cat(rows);
    return {grid.boxes.index_select(0, row), score.index_select(0, row), classes.index_select(0, row),
            torch::cat(image)};
  }

  LossTerms loss(const Activations& activations, const Targets& targets) override {
    const auto& grid = static_cast<const Grid&>(activations);
    const auto [row, target] = assign(grid, targets.boxes, targets.image_index);
    const Tensor weight = targets.weights.index_select(0, target);
    const Tensor soft = targets.class_probs.index_select(0, target);
    const Tensor class_loss = -(soft * grid.classes.index_select(0, row).log_softmax(1)).sum(1);
    return combine(grid, row, targets.boxes.index_select(0, target), class_loss, weight);
  }

  LossTerms hard_loss(const Activations& activations, const HardTargets& targets) override {
    const auto& grid = static_cast<const Grid&>(activations);
    const auto [row, target] = assign(grid, targets.boxes, targets.image_index);
    const Tensor class_loss =
        torch::nn::functional::cross_entropy(grid.classes.index_select(0, row), targets.labels.index_select(0, target),
                                             torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
    return combine(grid, row, targets.boxes.index_select(0, target), class_loss, torch::ones_like(class_loss));
  }

  void use_counts(bdc::plugin::SharedCounts counts) override { counts_ = std::move(counts); }

 protected:
  // Which cell answers for which target: the cells in the middle half of the box, at least the one next to its centre;
  // where boxes overlap, the smaller one. Returns rows of the grid and, for each, the target.
  static std::pair<Tensor, Tensor> assign(const Grid& grid, const Tensor& boxes, const Tensor& image) {
    if (boxes.size(0) == 0) return {torch::empty({0}, image.options()), torch::empty({0}, image.options())};
    const Tensor middle = (boxes.slice(1, 0, 2) + boxes.slice(1, 2, 4)) / 2;
    const Tensor size = boxes.slice(1, 2, 4) - boxes.slice(1, 0, 2);
    const Tensor offset = (grid.centres.unsqueeze(0) - middle.unsqueeze(1)).abs();  // T x cells x 2
    const Tensor inside = (offset < (size / 4).clamp_min(kStride / 2.0 + 0.01).unsqueeze(1)).all(2);
    const Tensor area = size.prod(1);
    const Tensor mine = image.unsqueeze(1) == torch::arange(grid.batch, image.options());  // T x B
    const Tensor claim = (mine.unsqueeze(2) & inside.unsqueeze(1)).reshape({boxes.size(0), -1});
    const auto [smallest, who] =
        torch::where(claim, area.unsqueeze(1), torch::full({1, 1}, 1e12, area.options())).min(0);
    const Tensor row = (smallest < 1e12).nonzero().squeeze(1);
    return {row, who.index_select(0, row)};
  }

  LossTerms combine(const Grid& grid, const Tensor& row, const Tensor& boxes, const Tensor& class_loss,
                    const Tensor& weight) const {
    const Tensor wanted = torch::zeros_like(grid.objectness).index_fill(0, row, 1.0);
    const Tensor trust = torch::ones_like(grid.objectness).index_copy(0, row, weight);
    Tensor norm = weight.sum().clamp_min(1.0);
    if (!counts_.is_alone()) norm = torch::full_like(norm, counts_.divisor(weight.sum().item<double>()));
    const Tensor objectness =
        (torch::binary_cross_entropy_with_logits(grid.objectness, wanted, {}, {}, at::Reduction::None) * trust).sum() /
        norm;
    const Tensor giou = bdc::plugin::generalized_iou_rows(grid.boxes.index_select(0, row), boxes);
    const Tensor box = box_gain_ * ((1 - giou) * weight).sum() / norm;
    const Tensor cls = (class_loss * weight).sum() / norm;
    return {objectness + box + cls, {{"obj", objectness.detach()}, {"box", box.detach()}, {"cls", cls.detach()}}};
  }

 private:
  std::int64_t classes_;
  double box_gain_;
  bdc::plugin::SharedCounts counts_;  // of the other processes that share the batch, if there are any
  Net net_;
};

}  // namespace minimal
