#pragma once

/// Laws of the plugin contract (bdc/plugin/detector.h) that every detector of ours is held to, and small random images
/// and targets to try them on.

#include <bdc/plugin/detector.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace laws {

using bdc::plugin::Detector;
using bdc::plugin::Images;
using bdc::plugin::Predictions;
using bdc::plugin::Targets;
using torch::Tensor;
using Values = std::map<std::string, bdc::plugin::OptionValue>;

constexpr std::int64_t kClasses = 4;

/// The defaults of a detector's options with some changed; of two changes the later counts.
inline Values option_values(const bdc::plugin::DetectorInfo& info, const Values& small, const Values& changed = {}) {
  Values out;
  for (const auto& spec : info.options) out[spec.name] = spec.default_value;
  for (const auto& [name, value] : small) out[name] = value;
  for (const auto& [name, value] : changed) out[name] = value;
  return out;
}

inline Images picture(std::int64_t batch, std::int64_t height, std::int64_t width) {
  torch::manual_seed(5);
  Images out;
  out.pixels = torch::rand({batch, 3, height, width});
  out.meta.resize(static_cast<std::size_t>(batch));
  for (auto& meta : out.meta) meta.content_width = width, meta.content_height = height;
  return out;
}

/// Boxes inside height x width, in growing image order.
inline Targets some_targets(std::int64_t count, std::int64_t batch, std::int64_t height, std::int64_t width) {
  torch::manual_seed(7);
  const Tensor edge = torch::tensor({static_cast<float>(width), static_cast<float>(height)});
  const Tensor low = torch::rand({count, 2}) * edge * 0.5, size = (torch::rand({count, 2}) * 0.4 + 0.1) * edge;
  Targets out;
  out.boxes = torch::cat({low, low + size}, 1);
  out.class_probs = torch::rand({count, kClasses}).softmax(1);
  out.weights = torch::rand({count}) + 0.2;
  out.image_index = torch::floor_divide(torch::arange(count, torch::kInt64) * batch, count);
  return out;
}

/// The targets of these rows.
inline Targets rows_of(const Targets& all, const std::vector<std::int64_t>& rows) {
  const Tensor index = torch::tensor(rows, torch::kInt64);
  const auto of = [&](const Tensor& t) { return t.index_select(0, index); };
  return {of(all.boxes), of(all.class_probs), of(all.weights), of(all.image_index)};
}

struct Pull {
  double loss;
  Tensor gradient;  ///< of all parameters, as one vector
};

/// In the mode the module is in, with the same random numbers every time.
inline Pull pull_of(Detector& detector, const Images& images,
                    const std::function<bdc::plugin::LossTerms(const bdc::plugin::Activations&)>& loss) {
  torch::manual_seed(11);
  detector.module().zero_grad();
  const Tensor total = loss(*detector.forward(images)).total;
  total.backward();
  std::vector<Tensor> parts;
  for (const auto& p : detector.module().parameters()) {
    parts.push_back(p.grad().defined() ? p.grad().flatten().clone() : torch::zeros({p.numel()}));
  }
  return {total.item<double>(), torch::cat(parts)};
}

inline Pull pull(Detector& detector, const Images& images, const Targets& targets) {
  return pull_of(detector, images, [&](const auto& a) { return detector.loss(a, targets); });
}

inline double length(const Tensor& t) {
  return t.norm().item<double>();
}

inline void expect_sound(const Pull& p) {
  EXPECT_TRUE(std::isfinite(p.loss));
  EXPECT_TRUE(torch::isfinite(p.gradient).all().item<bool>());
  EXPECT_GT(length(p.gradient), 0);
}

inline void expect_one_hot_and_weight_one_is_the_hard_loss(Detector& detector) {
  const Images images = picture(3, 96, 64);
  const Targets t = some_targets(9, 3, 96, 64);
  const Tensor labels = t.class_probs.argmax(1);
  const Pull soft = pull(detector, images, Targets::hard(t.boxes, labels, t.image_index, kClasses));
  const Pull hard = pull_of(detector, images, [&](const auto& a) {
    return detector.hard_loss(a, {t.boxes, labels, t.image_index});
  });
  EXPECT_NEAR(soft.loss, hard.loss, 1e-6 * hard.loss);
  EXPECT_LT(length(soft.gradient - hard.gradient), 1e-5 * length(hard.gradient));
}

inline void expect_a_target_of_weight_zero_is_as_if_it_were_not_there(Detector& detector) {
  const Images images = picture(2, 64, 64);
  Targets with = some_targets(6, 2, 64, 64);
  with.weights[2] = 0;
  const Targets without = rows_of(with, {0, 1, 3, 4, 5});
  EXPECT_TRUE(torch::equal(pull(detector, images, with).gradient, pull(detector, images, without).gradient));
}

/// Returns the pull.
inline Pull expect_no_targets_give_a_finite_loss_with_a_gradient(Detector& detector) {
  const Pull none = pull(detector, picture(2, 64, 64), rows_of(some_targets(4, 2, 64, 64), {}));
  expect_sound(none);
  return none;
}

inline void expect_all_weights_zero_is_as_if_there_were_no_targets(Detector& detector) {
  const Images images = picture(2, 64, 64);
  Targets silent = some_targets(6, 2, 64, 64);
  silent.weights.zero_();
  EXPECT_TRUE(
      torch::equal(pull(detector, images, silent).gradient, pull(detector, images, rows_of(silent, {})).gradient));
}

/// For a detector of one class. Returns its predictions.
inline Predictions expect_one_class_trains_and_predicts(Detector& detector) {
  Targets t = some_targets(4, 2, 64, 64);
  t.class_probs = torch::ones({4, 1});
  const auto activations = detector.forward(picture(2, 64, 64));
  EXPECT_TRUE(std::isfinite(detector.loss(*activations, t).total.item<double>()));
  Predictions p = detector.decode(*activations, {0.0, 0.6, 10});
  EXPECT_GT(p.scores.size(0), 0);
  EXPECT_TRUE(torch::allclose(p.class_probs, torch::ones_like(p.class_probs)));
  return p;
}

}  // namespace laws
