// The laws of the plugin contract, the places where ours differs from the original program, and odd images and targets,
// on small random networks.
#include "frcnn/detector.h"

#include "support/detector_laws.h"

namespace frcnn {
namespace {

using parts::ResNet;
using parts::ResNetOptions;

using namespace laws;

Detector build(const Values& changed = {}) {
  const Values small{{"backbone", std::string("resnet18")},     {"width", 0.25},
                     {"pyramid_channels", std::int64_t{16}},    {"head_channels", std::int64_t{32}},
                     {"trainable_layers", std::int64_t{5}},     {"anchor_sizes", std::string("8, 16, 32, 64, 128")},
                     {"rpn_post_nms_train", std::int64_t{100}}, {"rpn_post_nms_test", std::int64_t{50}}};
  torch::manual_seed(3);
  return Detector({kClasses, 64, bdc::plugin::Options(option_values(Detector::describe(), small, changed))});
}

TEST(FrcnnLaws, OneHotAndWeightOneIsTheHardLoss) {
  Detector detector = build();
  detector.module().eval();
  expect_one_hot_and_weight_one_is_the_hard_loss(detector);
}

TEST(FrcnnLaws, ATargetOfWeightZeroIsAsIfItWereNotThere) {
  Detector detector = build();
  detector.module().eval();
  expect_a_target_of_weight_zero_is_as_if_it_were_not_there(detector);
}

TEST(FrcnnLaws, WeightsReachBothStages) {
  // All targets twice as heavy: every part but background's doubles.
  Detector detector = build();
  detector.module().eval();
  const Images images = picture(2, 64, 64);
  Targets t = some_targets(6, 2, 64, 64);
  const auto parts = [&] {
    torch::manual_seed(11);
    std::map<std::string, double> out;
    for (const auto& [name, value] : detector.loss(*detector.forward(images), t).parts)
      out[name] = value.item<double>();
    return out;
  };
  t.weights.fill_(1);
  const auto once = parts();
  t.weights.fill_(2);
  const auto twice = parts();
  for (const char* name : {"rpn_box_reg", "box_reg"}) EXPECT_NEAR(twice.at(name), 2 * once.at(name), 1e-5) << name;
  for (const char* name : {"objectness", "classifier"}) {
    EXPECT_GT(twice.at(name), once.at(name)) << name;
    EXPECT_LT(twice.at(name), 2 * once.at(name)) << name << ": background has weight 1";
  }
}

TEST(FrcnnLaws, TheSameSeedGivesTheSameBits) {
  Detector detector = build({{"rpn_batch", std::int64_t{16}}, {"roi_batch", std::int64_t{16}}});
  detector.module().eval();
  const Images images = picture(2, 64, 64);
  const Targets t = some_targets(6, 2, 64, 64);
  const Pull first = pull(detector, images, t), second = pull(detector, images, t);
  EXPECT_EQ(first.loss, second.loss);
  EXPECT_TRUE(torch::equal(first.gradient, second.gradient));
}

TEST(FrcnnLaws, WhatStandsInThePaddingDoesNotMatter) {
  Detector detector = build();
  detector.module().eval();
  torch::NoGradGuard no_grad;
  Images images = picture(2, 96, 96);
  images.meta[0].content_width = 70;
  images.meta[1].content_height = 50;
  const auto before = detector.decode(*detector.forward(images), {0.0, 0.6, 20});
  images.pixels[0].slice(2, 70).fill_(0.9);
  images.pixels[1].slice(1, 50).fill_(0.1);
  const auto after = detector.decode(*detector.forward(images), {0.0, 0.6, 20});
  EXPECT_TRUE(torch::equal(before.boxes, after.boxes));
  EXPECT_TRUE(torch::equal(before.class_probs, after.class_probs));
  const Tensor first = (after.image_index == 0).nonzero().squeeze(1);
  EXPECT_LE(after.boxes.index_select(0, first).select(1, 2).max().item<double>(), 70);
}

TEST(FrcnnLaws, PredictionsComeBackInTheFrameOfTheImages) {
  // Resized to twice its size inside the plugin, an image gives boxes of the size it came in.
  Detector detector = build({{"min_size", std::int64_t{128}}, {"max_size", std::int64_t{192}}});
  detector.module().eval();
  torch::NoGradGuard no_grad;
  const auto activations = detector.forward(picture(1, 64, 96));
  const auto& scene = static_cast<const Scene&>(*activations);
  EXPECT_EQ(scene.sizes[0].height, 128);
  EXPECT_EQ(scene.sizes[0].width, 192);
  const auto p = detector.decode(*activations, {0.0, 0.9, 50});
  ASSERT_GT(p.scores.size(0), 0);
  EXPECT_LE(p.boxes.select(1, 2).max().item<double>(), 96);
  EXPECT_LE(p.boxes.select(1, 3).max().item<double>(), 64);
  EXPECT_GT(p.boxes.select(1, 2).max().item<double>(), 60);
}

TEST(FrcnnLaws, PredictionsAreSortedLimitedAndSumToOne) {
  Detector detector = build();
  detector.module().eval();
  torch::NoGradGuard no_grad;
  const auto activations = detector.forward(picture(2, 64, 64));
  const Predictions p = detector.decode(*activations, {0.0, 0.6, 7});
  ASSERT_EQ(p.scores.size(0), 14);
  EXPECT_LT((p.class_probs.sum(1) - 1).abs().max().item<double>(), 1e-5);
  for (std::int64_t b = 0; b < 2; ++b) {
    const Tensor s = p.scores.slice(0, 7 * b, 7 * b + 7);
    EXPECT_TRUE(torch::equal(s, std::get<0>(s.sort(0, true))));
  }
  EXPECT_EQ(detector.decode(*activations, {1.1, 0.6, 7}).scores.size(0), 0);
}

class FrcnnOddTargets : public ::testing::TestWithParam<std::string> {};

TEST_P(FrcnnOddTargets, LossAndGradientAreFinite) {
  Detector detector = build();
  detector.module().eval();
  Images images = picture(2, 96, 96);
  Targets t = some_targets(6, 2, 96, 96);
  if (GetParam() == "EmptyImages") {
    t = rows_of(t, {});
  } else if (GetParam() == "OneEmptyImage") {
    t.image_index.fill_(1);
  } else if (GetParam() == "ManyObjects") {
    t = some_targets(600, 2, 96, 96);
  } else if (GetParam() == "OnePixelBoxes") {
    t.boxes.slice(1, 2, 4).copy_(t.boxes.slice(1, 0, 2) + 1);
  } else if (GetParam() == "VanishingBoxes") {
    t.boxes.slice(1, 2, 4).copy_(t.boxes.slice(1, 0, 2) + 1e-5);
  } else if (GetParam() == "WholeImageBoxes") {
    t.boxes.copy_(torch::tensor({0.0F, 0.0F, 96.0F, 96.0F}).expand({6, 4}));
  } else if (GetParam() == "BoxesOutside") {
    t.boxes += 500;
  } else if (GetParam() == "AllWeightsZero") {
    t.weights.zero_();
  } else if (GetParam() == "HugeWeights") {
    t.weights.fill_(1e4);
  } else if (GetParam() == "ThinImages") {
    for (auto& meta : images.meta) meta.content_width = 1;
  } else {
    FAIL() << GetParam();
  }
  expect_sound(pull(detector, images, t));
}

INSTANTIATE_TEST_SUITE_P(Unit, FrcnnOddTargets,
                         ::testing::Values("EmptyImages", "OneEmptyImage", "ManyObjects", "OnePixelBoxes",
                                           "VanishingBoxes", "WholeImageBoxes", "BoxesOutside", "AllWeightsZero",
                                           "HugeWeights", "ThinImages"),
                         [](const auto& which) { return which.param; });

TEST(FrcnnOddTargets, WithAllWeightsZeroTheLossIsThatOfEmptyImages) {
  Detector detector = build();
  detector.module().eval();
  expect_all_weights_zero_is_as_if_there_were_no_targets(detector);
}

class FrcnnNorms : public ::testing::TestWithParam<std::string> {};

TEST_P(FrcnnNorms, LearnsOnlyWhatItMayAndPredictsTheSameWhenFolded) {
  Detector detector = build({{"norm", GetParam()}, {"trainable_layers", std::int64_t{-1}}});
  const auto parameters = detector.module().named_parameters();
  EXPECT_EQ(parameters["backbone.body.conv1.weight"].requires_grad(), GetParam() != "frozen");
  EXPECT_TRUE(parameters["backbone.body.layer4.0.conv1.weight"].requires_grad());
  EXPECT_EQ(detector.module().named_buffers().contains("backbone.body.bn1.weight"), GetParam() == "frozen");
  torch::NoGradGuard no_grad;
  torch::manual_seed(9);
  for (auto& b : detector.module().named_buffers()) {
    if (b.value().is_floating_point()) b.value().uniform_(0.5, 1.5);
  }
  detector.module().eval();
  const Images images = picture(1, 64, 64);
  const auto before = detector.forward(images);
  detector.prepare_for_inference();
  const auto after = detector.forward(images);
  const Tensor a = static_cast<const Scene&>(*before).rpn.objectness,
               b = static_cast<const Scene&>(*after).rpn.objectness;
  EXPECT_LT((a - b).abs().max().item<double>(), 1e-4 * a.abs().max().item<double>());
}

INSTANTIATE_TEST_SUITE_P(Unit, FrcnnNorms, ::testing::Values("frozen", "batch", "group"),
                         [](const auto& which) { return which.param; });

TEST(FrcnnOptions, BackbonesHaveTheirOfficialSizes) {
  const auto weights = [](const char* kind) {
    ResNetOptions options;
    options.kind = kind;
    options.norm = NormKind::batch;
    std::int64_t count = 0;
    for (const auto& p : ResNet(options).parameters()) count += p.numel();
    return count;
  };
  // torchvision's models without their classifiers.
  EXPECT_EQ(weights("resnet18"), 11689512 - 513000);
  EXPECT_EQ(weights("resnet34"), 21797672 - 513000);
  EXPECT_EQ(weights("resnet50"), 25557032 - 2049000);
  EXPECT_EQ(weights("resnet101"), 44549160 - 2049000);
}

TEST(FrcnnOptions, ASmallestEdgeAboveTheLargestIsRefused) {
  EXPECT_THROW(build({{"min_size", std::int64_t{100}}, {"max_size", std::int64_t{1}}}), std::invalid_argument);
}

TEST(FrcnnOptions, BadAnchorsAreRefusedByName) {
  for (const char* text : {"", "8, 16", "8, 16, 32, 64, x", "8, 16, 32, 64, -1"}) {
    try {
      build({{"anchor_sizes", std::string(text)}});
      FAIL() << text;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("anchor_sizes"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace frcnn
