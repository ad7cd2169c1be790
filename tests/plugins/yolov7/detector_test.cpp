// The laws of the plugin contract and the places where ours differs from the original program, on small random
// networks.
#include "yolov7/detector.h"

#include "engine/mixed_precision.h"
#include "support/detector_laws.h"
#include "yolov7/decode.h"

namespace yolov7 {
namespace {

using namespace laws;

Detector build(const Values& changed, std::int64_t classes = kClasses) {
  const Values small{{"variant", std::string("tiny")}, {"width", 0.25}};
  torch::manual_seed(3);
  return Detector({classes, 64, bdc::plugin::Options(option_values(Detector::describe(), small, changed))});
}

/// With batch norms frozen.
class Yolov7Assigners : public ::testing::TestWithParam<std::string> {
 protected:
  Yolov7Assigners() : detector_(build({{"assigner", GetParam()}})) { detector_.module().eval(); }
  Detector detector_;
};

TEST_P(Yolov7Assigners, OneHotAndWeightOneIsTheHardLoss) {
  expect_one_hot_and_weight_one_is_the_hard_loss(detector_);
}

TEST_P(Yolov7Assigners, ATargetOfWeightZeroIsAsIfItWereNotThere) {
  expect_a_target_of_weight_zero_is_as_if_it_were_not_there(detector_);
}

TEST_P(Yolov7Assigners, NoTargetsGiveAFiniteLossWithAGradient) {
  (void)expect_no_targets_give_a_finite_loss_with_a_gradient(detector_);
  expect_all_weights_zero_is_as_if_there_were_no_targets(detector_);
}

TEST_P(Yolov7Assigners, OneClassTrainsAndPredicts) {
  Detector detector = build({{"assigner", GetParam()}}, 1);
  detector.module().eval();
  const Predictions p = expect_one_class_trains_and_predicts(detector);
  EXPECT_TRUE(torch::equal(p.class_probs, torch::ones({20, 1})));
}

INSTANTIATE_TEST_SUITE_P(All, Yolov7Assigners, ::testing::Values("ota", "plain"),
                         [](const auto& which) { return which.param; });

TEST(Yolov7Loss, EachTargetsWeightMultipliesItsOwnBoxLoss) {
  Detector detector = build({{"assigner", std::string("plain")}});
  detector.module().eval();
  const auto activations = detector.forward(picture(2, 64, 64));
  const auto& heads = static_cast<const Heads&>(*activations);
  const Targets t = some_targets(6, 2, 64, 64);
  double expected = 0;
  const auto assigned = candidates(heads, t.boxes, t.image_index);
  for (std::size_t l = 0; l < 3; ++l) {
    const auto n = assigned[l].row.size(0);
    if (n == 0) continue;
    const Tensor ciou = pair_terms(heads.levels[l], assigned[l], t.boxes).ciou;
    for (std::int64_t i = 0; i < n; ++i) {
      const double weight = t.weights[assigned[l].target[i].item<std::int64_t>()].item<double>();
      expected += 0.05 * weight * (1 - ciou[i].item<double>()) / static_cast<double>(n);
    }
  }
  for (const auto& [name, value] : detector.loss(*activations, t).parts) {
    if (name == "box") {
      EXPECT_NEAR(value.item<double>(), 2 * expected, 1e-6) << "of the batch, like the total";
    }
  }
  EXPECT_GT(expected, 0);
}

TEST(Yolov7Assignment, TurningTheImageOnItsSideTurnsTheAssignment) {
  // A head whose rows say the same everywhere, so that only geometry decides; square anchors.
  const auto level = [](std::int64_t h, std::int64_t w, std::int64_t stride) {
    const Tensor anchors = torch::full({3, 2}, 2.0 * static_cast<double>(stride));
    return Level{torch::zeros({h * w * 3, 5 + kClasses}), h, w, stride, anchors};
  };
  Heads wide, tall;
  wide.batch = tall.batch = 1;
  for (const std::int64_t s : {8, 16, 32}) {
    wide.levels.push_back(level(64 / s, 192 / s, s));
    tall.levels.push_back(level(192 / s, 64 / s, s));
  }
  const Tensor boxes = torch::tensor({110.0F, 11.0F, 139.0F, 41.0F, 21.0F, 30.0F, 52.0F, 57.0F}).view({2, 4});
  const Tensor turned = boxes.index_select(1, torch::tensor({1, 0, 3, 2}));
  const Tensor image = torch::zeros({2}, torch::kInt64), labels = torch::tensor({0, 1});
  const auto a = assign_optimal_transport(wide, boxes, image, fit_of_labels(labels), boxes);
  const auto b = assign_optimal_transport(tall, turned, image, fit_of_labels(labels), turned);
  std::int64_t total = 0;
  for (std::size_t l = 0; l < 3; ++l) {
    ASSERT_EQ(a[l].row.size(0), b[l].row.size(0)) << "level " << l;
    total += a[l].row.size(0);
    const Place here = place_of(wide.levels[l], a[l].row), there = place_of(tall.levels[l], b[l].row);
    const auto key = [](const Tensor& x, const Tensor& y, const Tensor& target) {
      return std::get<0>((x * 1000 + y * 10 + target).sort());
    };
    EXPECT_TRUE(torch::equal(key(here.cell.select(1, 0), here.cell.select(1, 1), a[l].target),
                             key(there.cell.select(1, 1), there.cell.select(1, 0), b[l].target)));
  }
  EXPECT_GT(total, 1);
}

/// Every pair, level by level.
std::vector<std::int64_t> flat(const std::vector<Pairs>& pairs) {
  std::vector<std::int64_t> out;
  for (const Pairs& level : pairs) {
    for (const Tensor& t : {level.row, level.target}) {
      out.insert(out.end(), t.data_ptr<std::int64_t>(), t.data_ptr<std::int64_t>() + t.numel());
    }
  }
  return out;
}

TEST(Yolov7Assignment, IsTheSameUnderAutocast) {
  constexpr std::int64_t kMany = 20, kTargets = 80;
  Detector detector = build({}, kMany);
  const auto activations = detector.forward(picture(4, 128, 128));
  const auto& heads = static_cast<const Heads&>(*activations);
  const Targets t = some_targets(kTargets, 4, 128, 128);
  const Tensor probs = torch::rand({kTargets, kMany}).softmax(1);
  const auto assigned = [&](const ClassFit& fit) {
    return flat(assign_optimal_transport(heads, t.boxes, t.image_index, fit, t.boxes));
  };
  const auto expected = assigned(fit_of_probs(probs));
  ASSERT_FALSE(expected.empty());
  const auto rounded = assigned([&](const Tensor& targets, const Tensor& margins) {
    return probs.index_select(0, targets).to(torch::kBFloat16).mm(margins.t().to(torch::kBFloat16)).to(torch::kFloat32);
  });
  ASSERT_NE(rounded, expected) << "half precision would choose other pairs";
  const bdc::host::HalfPrecision half(torch::kCPU, true);
  ASSERT_EQ(torch::mm(probs, probs.t()).scalar_type(), torch::kBFloat16) << "autocast is on";
  EXPECT_EQ(assigned(fit_of_probs(probs)), expected);
}

TEST(Yolov7Decode, KeepsTheBestAndStaysWithinItsLimits) {
  Detector detector = build({});
  detector.module().eval();
  const auto activations = detector.forward(picture(3, 64, 96));
  const Predictions all = detector.decode(*activations, {0.0, 0.5, 20});
  ASSERT_GT(all.scores.size(0), 0);
  EXPECT_FALSE(all.boxes.requires_grad() || all.class_probs.requires_grad());
  EXPECT_LT((all.class_probs.sum(1) - 1).abs().max().item<double>(), 1e-5);
  const auto seen = sightings(static_cast<const Heads&>(*activations), 0.0);
  for (std::int64_t b = 0; b < 3; ++b) {
    const Tensor mine = all.scores.masked_select(all.image_index == b);
    EXPECT_LE(mine.size(0), 20);
    EXPECT_EQ(mine[0].item<float>(), seen.scores().masked_select(seen.image == b).max().item<float>());
  }
  const double middle = all.scores.median().item<double>();
  EXPECT_GT(detector.decode(*activations, {middle, 0.5, 20}).scores.min().item<double>(), middle);
  for (const double least : {1.0, 1.1}) {
    const Predictions none = detector.decode(*activations, {least, 0.5, 20});
    EXPECT_EQ(none.boxes.sizes().vec(), (std::vector<std::int64_t>{0, 4}));
    EXPECT_EQ(none.class_probs.sizes().vec(), (std::vector<std::int64_t>{0, kClasses}));
    EXPECT_EQ(none.image_index.scalar_type(), torch::kInt64);
  }
}

class Yolov7Fusing : public ::testing::TestWithParam<std::string> {};

TEST_P(Yolov7Fusing, TheFusedNetworkGivesTheSameOutputs) {
  Detector detector = build({{"variant", GetParam()}, {"depth", 2.0}});
  const Images images = picture(2, 96, 64);
  torch::NoGradGuard no_grad;
  for (auto& p : detector.module().parameters()) {  // norms and implicit layers away from 0 and 1
    if (p.dim() == 1 || p.size(0) == 1) p.add_(torch::randn_like(p) * 0.3);
  }
  detector.module().train();
  for (int i = 0; i < 20; ++i) (void)detector.forward(images);  // running statistics away from 0 and 1
  detector.module().eval();
  const auto before = detector.forward(images);
  const std::size_t parameters = detector.module().parameters().size();
  detector.prepare_for_inference();
  EXPECT_LT(detector.module().parameters().size(), parameters);
  for (const auto& item : detector.module().named_buffers()) {
    EXPECT_EQ(item.key().find("running"), std::string::npos) << item.key() << " is not fused";
  }
  const auto after = detector.forward(images);
  for (std::size_t l = 0; l < 3; ++l) {
    const Tensor a = static_cast<const Heads&>(*before).levels[l].raw,
                 b = static_cast<const Heads&>(*after).levels[l].raw;
    EXPECT_LT((a - b).abs().max().item<double>(), 1e-4) << "level " << l;
    EXPECT_GT(a.std().item<double>(), 1e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Yolov7Fusing, ::testing::Values("full", "tiny"),
                         [](const auto& which) { return which.param; });

TEST(Yolov7Layers, RepConvWithAnIdentityBranchFusesToo) {
  torch::manual_seed(1);
  RepConv layer(8, 8);
  torch::NoGradGuard no_grad;
  for (auto& p : layer.parameters()) p.add_(torch::randn_like(p) * 0.2);
  layer.train();
  const Tensor x = torch::randn({2, 8, 6, 5});
  for (int i = 0; i < 20; ++i) (void)layer.run({x * 2 + 1});
  layer.eval();
  const Tensor before = layer.run({x});
  layer.fuse();
  EXPECT_LT((layer.run({x}) - before).abs().max().item<double>(), 1e-5);
}

TEST(Yolov7Network, WidthAndDepthChangeSizeNotNamesOfTheOthers) {
  Detector base = build({}), wide = build({{"width", 0.5}}), deep = build({{"depth", 2.0}});
  const auto count = [](Detector& d) { return d.module().parameters().size(); };
  EXPECT_EQ(count(base), count(wide));
  EXPECT_GT(count(deep), count(base));
  EXPECT_EQ(wide.module().named_parameters()["model.1.conv.weight"].size(0), 32);
  EXPECT_TRUE(deep.module().named_parameters().contains("model.4.1.conv.weight"));
  EXPECT_TRUE(deep.module().named_parameters().contains("model.76.conv.weight"));
}

TEST(Yolov7Network, StartsWithThePriorsOfTheOfficialProgram) {
  Detector detector = build({}, 20);
  const auto parameters = detector.module().named_parameters();
  for (int level = 0; level < 3; ++level) {
    const Tensor bias = parameters["model.77.m." + std::to_string(level) + ".bias"].detach().view({3, 25});
    const double cells = std::pow(640.0 / static_cast<double>(kStrides[level]), 2);
    // The convolution's own random bias is within 1 / sqrt(inputs), 1 / sqrt(32) for the narrowest.
    EXPECT_NEAR(bias.select(1, 4).mean().item<double>(), std::log(8 / cells), 0.18);
    EXPECT_NEAR(bias.slice(1, 5).mean().item<double>(), std::log(0.6 / (20 - 0.99)), 0.18);
  }
}

TEST(Yolov7Detector, GroupsKeepWeightDecayOffNormsBiasesAndImplicitLayers) {
  Detector detector = build({});
  const auto groups = detector.parameter_groups();
  std::size_t total = 0;
  for (const auto& group : groups) total += group.parameters.size();
  EXPECT_EQ(total, detector.module().parameters().size());
  for (const auto& p : groups.at(0).parameters) EXPECT_TRUE(p.dim() == 4 && p.size(0) > 1);
  EXPECT_EQ(groups.at(1).weight_decay_factor, 0.0);
}

TEST(Yolov7Detector, AnchorsAreFittedUnlessTheUserGaveThem) {
  const auto anchors_of = [](Detector& d) { return d.module().named_buffers()["model.77.anchors"].clone(); };
  const Tensor wide_and_flat = torch::tensor({400.0F, 3.0F}).repeat({40, 1});
  Detector free = build({});
  const Tensor official = anchors_of(free);
  free.adapt_to_boxes(torch::tensor({30.0F, 60.0F}).repeat({40, 1}));
  EXPECT_TRUE(torch::equal(anchors_of(free), official)) << "they suited";
  free.adapt_to_boxes(wide_and_flat);
  EXPECT_FALSE(torch::equal(anchors_of(free), official));
  EXPECT_NEAR((anchors_of(free)[2][2][0] * 32).item<double>(), 400, 20);
  Detector fixed = build({{"anchors", std::string("10,13,16,30,33,23,30,61,62,45,59,119,116,90,156,198,373,326")}});
  const Tensor given = anchors_of(fixed);
  fixed.adapt_to_boxes(wide_and_flat);
  EXPECT_TRUE(torch::equal(anchors_of(fixed), given));
  EXPECT_THROW(build({{"anchors", std::string("1,2")}}), std::invalid_argument);
}

}  // namespace
}  // namespace yolov7
