// Laws of the parts that detectors with proposals share.
#include <ATen/Parallel.h>
#include <bdc/plugin/torchvision_ops.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include "two_stage/anchors.h"
#include "two_stage/regions.h"
#include "two_stage/roi_align.h"
#include "two_stage/rpn.h"
#include "two_stage/soft_losses.h"

namespace two_stage {
namespace {

Tensor random_boxes(std::int64_t count, double edge) {
  const Tensor low = torch::rand({count, 2}) * edge, size = torch::rand({count, 2}) * edge + 1;
  return torch::cat({low, low + size}, 1);
}

TEST(BoxCoding, DecodingUndoesEncoding) {
  torch::manual_seed(1);
  const Tensor boxes = random_boxes(50, 100), regions = random_boxes(50, 100);
  for (const BoxCoder& coder : {BoxCoder{}, BoxCoder{{10, 10, 5, 5}}}) {
    const Tensor back = coder.decode(coder.encode(boxes, regions), regions).squeeze(1);
    EXPECT_LT((back - boxes).abs().max().item<double>(), 1e-3);
  }
}

TEST(BoxCoding, AWildCodeStaysFinite) {
  const Tensor out = BoxCoder{}.decode(torch::full({1, 4}, 1e4), torch::tensor({{0.0F, 0.0F, 10.0F, 10.0F}}));
  EXPECT_TRUE(torch::isfinite(out).all().item<bool>());
}

TEST(Matching, IsThatOfANaiveLoopAlsoInBlocks) {
  torch::manual_seed(2);
  // Enough pairs for several blocks.
  const Tensor targets = random_boxes(400, 200), boxes = random_boxes(12000, 200);
  const Matcher matcher{0.7, 0.3, true};
  const Tensor ours = matcher.match(targets, boxes);
  const Tensor iou = iou_matrix(targets, boxes);
  const auto [best, place] = iou.max(0);
  const Tensor top = std::get<0>(iou.max(1)).unsqueeze(1);
  const Tensor low_quality = (iou == top).any(0);
  const Tensor expected =
      torch::where((best >= 0.7) | low_quality, place,
                   torch::where(best < 0.3, torch::full_like(place, -1), torch::full_like(place, -2)));
  EXPECT_TRUE(torch::equal(ours, expected));
}

TEST(Matching, ATargetThatNoBoxTouchesTakesNone) {
  const Tensor boxes = torch::tensor({{0.0F, 0.0F, 10.0F, 10.0F}, {20.0F, 0.0F, 30.0F, 10.0F}});
  const Tensor far = torch::tensor({{500.0F, 500.0F, 510.0F, 510.0F}});
  EXPECT_TRUE((Matcher{0.7, 0.3, true}.match(far, boxes) == Matcher::kBackground).all().item<bool>());
  EXPECT_EQ((Matcher{0.5, 0.5, false}.match(torch::zeros({0, 4}), boxes).size(0)), 2);
}

TEST(Sampling, NeverExceedsItsSharesAndNeverDrawsTheUndecided) {
  torch::manual_seed(3);
  const Tensor matches = torch::randint(-2, 2, {1000}, torch::kInt64);
  BalancedSampler sampler;
  sampler.per_image = 64;
  sampler.positive_share = 0.25;
  const auto drawn = sampler.draw(matches);
  EXPECT_EQ(drawn.positive.size(0), 16);
  EXPECT_EQ(drawn.negative.size(0), 48);
  EXPECT_TRUE((matches.index_select(0, drawn.positive) >= 0).all().item<bool>());
  EXPECT_TRUE((matches.index_select(0, drawn.negative) == -1).all().item<bool>());
  const auto again = sampler.draw(matches);
  EXPECT_FALSE(torch::equal(drawn.negative, again.negative)) << "drawn anew";
  torch::manual_seed(3);
  (void)torch::randint(-2, 2, {1000}, torch::kInt64);
  EXPECT_TRUE(torch::equal(sampler.draw(matches).negative, drawn.negative)) << "the same seed, the same draw";
}

TEST(Sampling, NegativesFillUpForMissingPositives) {
  Tensor matches = torch::full({100}, -1, torch::kInt64);
  matches[5] = 0;
  BalancedSampler sampler;
  sampler.per_image = 20;
  const auto drawn = sampler.draw(matches);
  EXPECT_EQ(drawn.positive.size(0), 1);
  EXPECT_EQ(drawn.negative.size(0), 19);
}

TEST(Pooling, IsTorchvisionsOperatorWithItsGradientForAnyNumberOfThreads) {
  torch::manual_seed(4);
  const Tensor features = torch::randn({3, 5, 20, 24}), corners = random_boxes(70, 60);
  const Tensor regions = torch::cat({torch::randint(0, 3, {70, 1}).to(torch::kFloat32), corners}, 1);
  const Tensor pull = torch::randn({70, 5, 7, 7});
  const auto run = [&](bool plain) {
    Tensor leaf = features.clone().requires_grad_();
    const Tensor out = plain ? vision::ops::roi_align(leaf, regions, 0.25, 7, 7, 2, false)
                             : parallel_roi_align(leaf, regions, 0.25, 7, 2, false);
    (out * pull).sum().backward();
    return std::make_pair(out.detach(), leaf.grad().clone());
  };
  const auto theirs = run(true);
  const int threads = at::get_num_threads();
  for (const int t : {1, 2, 5}) {
    at::set_num_threads(t);
    const auto ours = run(false);
    EXPECT_TRUE(torch::equal(ours.first, theirs.first)) << t;
    EXPECT_TRUE(torch::equal(ours.second, theirs.second)) << t;
  }
  at::set_num_threads(threads);
}

TEST(Pooling, SendsRegionsToTheLevelOfTheirSize) {
  const std::vector<std::int64_t> strides{4, 8, 16, 32};
  const auto square = [](float edge) { return torch::tensor({{0.0F, 0.0F, edge, edge}}); };
  const RoiPool pool;
  for (const auto& [edge, level] :
       std::vector<std::pair<float, int>>{{10, 0}, {112, 1}, {224, 2}, {448, 3}, {4000, 3}}) {
    EXPECT_EQ(pool.level_of(square(edge), strides).item<int>(), level) << edge;
  }
}

TEST(SoftLosses, BackgroundIsOneHotInItsColumnAndHasWeightOne) {
  const Tensor probs = torch::tensor({{0.2F, 0.8F}, {0.5F, 0.5F}}), target = torch::tensor({1, -1, 0}, torch::kInt64);
  EXPECT_TRUE(torch::equal(region_classes(probs, target, 0),
                           torch::tensor({{0.0F, 0.5F, 0.5F}, {1.0F, 0.0F, 0.0F}, {0.0F, 0.2F, 0.8F}})));
  EXPECT_TRUE(torch::equal(region_classes(probs, target, 2),
                           torch::tensor({{0.5F, 0.5F, 0.0F}, {0.0F, 0.0F, 1.0F}, {0.2F, 0.8F, 0.0F}})));
  EXPECT_TRUE(torch::equal(region_weights(torch::tensor({0.3F, 0.7F}), target), torch::tensor({0.7F, 1.0F, 0.3F})));
}

TEST(SoftLosses, SmoothL1WithBetaZeroIsTheDistance) {
  const Tensor a = torch::tensor({{1.0F, 2.0F, 3.0F, 4.0F}}), b = torch::tensor({{1.5F, 1.0F, 3.0F, 2.0F}});
  EXPECT_FLOAT_EQ(smooth_l1_rows(a, b, 0).item<float>(), 3.5F);
  EXPECT_FLOAT_EQ(smooth_l1_rows(a, b, 1).item<float>(), 0.125F + 0.5F + 1.5F);
}

TEST(Proposing, KeepsToItsLimitsAndToTheImage) {
  torch::manual_seed(6);
  RpnHead head(8, 3);
  AnchorOptions options;
  options.sizes = {{8}, {16}};
  const std::vector<Tensor> features{torch::randn({2, 8, 16, 16}), torch::randn({2, 8, 8, 8})};
  const Tensor anchors = grid_anchors(options, {{16, 16}, {8, 8}}, {{4, 4}, {8, 8}});
  const auto rpn = flatten(head.forward(features), anchors);
  EXPECT_EQ(anchors.size(0), rpn.objectness.size(1));
  ProposalOptions limits;
  limits.before_suppression = 100;
  limits.after_suppression = 30;
  const auto proposals = propose(rpn, {{60, 50}, {64, 64}}, limits);
  ASSERT_EQ(proposals.size(), 2U);
  EXPECT_LE(proposals[0].boxes.size(0), 30);
  EXPECT_GT(proposals[0].boxes.size(0), 0);
  EXPECT_LE(proposals[0].boxes.select(1, 2).max().item<double>(), 50);
  EXPECT_LE(proposals[0].boxes.select(1, 3).max().item<double>(), 60);
  EXPECT_FALSE(proposals[0].boxes.requires_grad());
}

TEST(Proposing, RpnLossIsThatOfANaiveLoop) {
  torch::manual_seed(8);
  const Tensor anchors = random_boxes(40, 50);
  RpnOutputs rpn{torch::randn({2, 40}), torch::randn({2, 40, 4}), anchors, {40}};
  const Tensor targets = random_boxes(5, 50), weights = torch::rand({5});
  RpnLossOptions options;
  options.sampler.per_image = 10;
  const auto sample = sample_anchors(rpn, targets, {0, 2, 5}, options);
  ASSERT_GT(sample.positive.size(0), 0);
  for (const bool by_number : {true, false}) {
    options.by_number_drawn = by_number;
    double objectness = 0, boxes = 0;
    for (std::int64_t i = 0; i < sample.positive.size(0); ++i) {
      const auto row = sample.positive[i].item<std::int64_t>(), t = sample.target[i].item<std::int64_t>();
      const double w = weights[t].item<double>(), z = rpn.objectness[row / 40][row % 40].item<double>();
      objectness += w * std::log1p(std::exp(-z));
      const Tensor code = BoxCoder{}.encode(targets[t].unsqueeze(0), anchors[row % 40].unsqueeze(0));
      boxes += w * smooth_l1_rows(rpn.deltas[row / 40][row % 40].unsqueeze(0), code, 1.0 / 9).item<double>();
    }
    for (std::int64_t i = 0; i < sample.negative.size(0); ++i) {
      const auto row = sample.negative[i].item<std::int64_t>();
      objectness += std::log1p(std::exp(rpn.objectness[row / 40][row % 40].item<double>()));
    }
    const double n = by_number ? static_cast<double>(sample.positive.size(0) + sample.negative.size(0)) : 20.0;
    const auto ours = rpn_loss(rpn, sample, targets, weights, options);
    EXPECT_NEAR(ours.objectness.item<double>(), objectness / n, 1e-5);
    EXPECT_NEAR(ours.boxes.item<double>(), boxes / n, 1e-4 * boxes / n);
  }
}

}  // namespace
}  // namespace two_stage
