// Laws of the parts that detectors with proposals share.
#include <ATen/Parallel.h>
#include <bdc/plugin/torchvision_ops.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include "parts/anchors.h"
#include "parts/regions.h"
#include "parts/roi_align.h"
#include "parts/rpn.h"
#include "parts/soft_losses.h"
#include "parts/sparse_conv.h"
#include "parts/transform.h"

namespace parts {
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

TEST(Resizing, RoundsLikeTorchvision) {
  const auto size = [](std::int64_t height, std::int64_t width, const TransformOptions& options) {
    const ImageSize out = resized({height, width}, options);
    return std::vector<std::int64_t>{out.height, out.width};
  };
  using Size = std::vector<std::int64_t>;
  EXPECT_EQ(size(480, 640, {800, 1333}), (Size{800, 1066}));
  EXPECT_EQ(size(427, 640, {800, 1333}), (Size{799, 1199}));
  EXPECT_EQ(size(375, 500, {800, 1333}), (Size{799, 1066}));
  EXPECT_EQ(size(88, 121, {112, 150}), (Size{109, 149}));
  EXPECT_EQ(size(612, 612, {800, 1333}), (Size{800, 800}));
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

TEST(Sampling, DrawsWhatTorchvisionDrawsFromTheSameSeed) {
  // BalancedPositiveNegativeSampler(12, 0.25) of torchvision 0.14 after torch.manual_seed(1), one image after the
  // other.
  const std::vector<std::vector<std::int64_t>> positive{{0, 28, 42}, {0, 35, 42}},
      negative{{5, 10, 13, 24, 32, 33, 44, 50, 59}, {2, 3, 4, 15, 20, 23, 32, 43, 44}};
  BalancedSampler sampler;
  sampler.per_image = 12;
  sampler.positive_share = 0.25;
  torch::manual_seed(1);
  for (std::size_t b = 0; b < 2; ++b) {
    std::vector<std::int64_t> matches;
    for (int i = 0; i < (b == 0 ? 60 : 45); ++i) {
      matches.push_back(i % 7 == 0 ? 3 : i % 5 == 1 ? Matcher::kNeither : Matcher::kBackground);
    }
    const auto drawn = sampler.draw(torch::tensor(matches));
    EXPECT_TRUE(torch::equal(drawn.positive, torch::tensor(positive[b]))) << drawn.positive;
    EXPECT_TRUE(torch::equal(drawn.negative, torch::tensor(negative[b]))) << drawn.negative;
  }
}

struct Sampled {
  std::int64_t ratio;
  bool aligned;
};
class Pooling : public ::testing::TestWithParam<Sampled> {};

TEST_P(Pooling, IsTorchvisionsOperatorWithItsGradientForAnyNumberOfThreads) {
  torch::manual_seed(4);
  // In part outside the image (80 x 96 pixels), some far outside, one inside out, one of no size.
  const Tensor features = torch::randn({3, 5, 20, 24}, torch::kFloat64);
  Tensor corners = random_boxes(70, 60).to(torch::kFloat64) - 10;
  corners[3] += 500;
  corners[4] -= 500;
  corners[5] = torch::tensor({40.0, 40.0, 20.0, 30.0});
  corners[6] = torch::tensor({12.0, 12.0, 12.0, 12.0});
  const Tensor regions = torch::cat({torch::randint(0, 3, {70, 1}).to(torch::kFloat64), corners}, 1);
  const Tensor pull = torch::randn({70, 5, 7, 7}, torch::kFloat64);
  const auto run = [&](bool plain) {
    Tensor leaf = features.clone().requires_grad_();
    const auto [ratio, aligned] = GetParam();
    const Tensor out = plain ? vision::ops::roi_align(leaf, regions, 0.25, 7, 7, ratio, aligned)
                             : parallel_roi_align(leaf, regions, 0.25, 7, ratio, aligned);
    (out * pull).sum().backward();
    return std::make_pair(out.detach(), leaf.grad().clone());
  };
  const auto theirs = run(true);
  const int threads = at::get_num_threads();
  Tensor first;
  for (const int t : {1, 2, 5}) {
    at::set_num_threads(t);
    const auto ours = run(false);
    EXPECT_TRUE(torch::equal(ours.first, theirs.first)) << t;
    EXPECT_LE((ours.second - theirs.second).abs().max().item<double>(), 1e-12) << t;
    if (!first.defined()) first = ours.second;
    EXPECT_TRUE(torch::equal(ours.second, first)) << t;
  }
  at::set_num_threads(threads);
}

INSTANTIATE_TEST_SUITE_P(Unit, Pooling, ::testing::Values(Sampled{2, false}, Sampled{0, true}, Sampled{0, false}));

TEST(PoolLevels, SendsRegionsToTheLevelOfTheirSize) {
  const std::vector<std::int64_t> strides{4, 8, 16, 32};
  const auto square = [](float edge) { return torch::tensor({{0.0F, 0.0F, edge, edge}}); };
  const RoiPool pool;
  for (const auto& [edge, level] :
       std::vector<std::pair<float, int>>{{10, 0}, {112, 1}, {224, 2}, {448, 3}, {4000, 3}}) {
    EXPECT_EQ(pool.level_of(square(edge), strides).item<int>(), level) << edge;
  }
}

class SparseConv : public ::testing::TestWithParam<int> {};

TEST_P(SparseConv, IsThePlainConvolutionWithItsGradient) {
  // The gradient comes from so many of 2 x 9 x 7 cells: none, one corner, a few, all of them.
  torch::manual_seed(12);
  const auto fresh = [](const std::vector<std::int64_t>& shape) { return torch::randn(shape, torch::kFloat64); };
  const Tensor x = fresh({2, 5, 9, 7}), weight = fresh({4, 5, 3, 3}), bias = fresh({4});
  Tensor wanted = torch::zeros({2, 9, 7, 4}, torch::kFloat64);
  const Tensor cells = torch::linspace(0, 2 * 9 * 7 - 1, GetParam()).to(torch::kInt64);
  wanted.view({-1, 4}).index_copy_(0, cells, fresh({GetParam(), 4}));
  const auto run = [&](bool sparse) {
    std::vector<Tensor> in;
    for (const Tensor& t : {x, weight, bias}) in.push_back(t.clone().requires_grad_());
    const Tensor y = sparse ? conv3x3_sparse_gradient(in[0], in[1], in[2]) : torch::conv2d(in[0], in[1], in[2], 1, 1);
    (y * wanted.permute({0, 3, 1, 2})).sum().backward();
    return std::vector<Tensor>{y.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
  };
  const auto ours = run(true), plain = run(false);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].sizes(), plain[i].sizes());
    EXPECT_LE((ours[i] - plain[i]).abs().max().item<double>(), 1e-12) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Unit, SparseConv, ::testing::Values(0, 1, 11, 2 * 9 * 7));

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

TEST(Proposing, OfEqualProbabilitiesTheBetterLogitComesFirst) {
  // Far apart, so that none is suppressed. The sigmoid rounds all logits of a level to one number, and those of the two
  // levels, too; torchvision orders such proposals as its unstable sort leaves them.
  std::vector<float> corners, logits;
  for (int i = 0; i < 40; ++i) {
    const auto x = static_cast<float>(20 * i);
    corners.insert(corners.end(), {x, 5, x + 10, 15});
    logits.push_back(20 + 0.01F * static_cast<float>(i * 7 % 20));
  }
  const RpnOutputs rpn{
      torch::tensor(logits).unsqueeze(0), torch::zeros({1, 40, 4}), torch::tensor(corners).view({40, 4}), {20, 20}};
  ASSERT_EQ(rpn.objectness.sigmoid().min().item<float>(), rpn.objectness.sigmoid().max().item<float>());
  const auto found = propose(rpn, {{20, 800}}, {})[0];
  ASSERT_EQ(found.logits.size(0), 40);
  for (const std::int64_t level : {0, 20}) {
    const Tensor own = found.logits.slice(0, level, level + 20);
    EXPECT_TRUE(torch::equal(own, std::get<0>(own.sort(0, true)))) << "level at " << level;
    EXPECT_EQ(found.boxes[level][0].item<float>() < 400, level == 0) << "the finer level first";
  }
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
}  // namespace parts
