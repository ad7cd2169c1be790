#include <torch/csrc/autograd/autograd.h>

#include <set>

#include "plugins/eva/golden_eva.h"

namespace eva_golden {
namespace {

using golden::expect_summary;
using golden::numbers;
using golden::relative;
using golden::tolerance_of;

TEST(EvaMini, RotaryAnglesAndTurnedTokensAreTheOriginals) {
  const json& rope = file().at("mini").at("rope");
  const eva::Rope three(8, 16, 3), eight(16, 16, 8);
  const auto buffers = three.named_buffers();
  EXPECT_TRUE(torch::allclose(buffers["freqs_cos"], numbers(rope.at("dim4_pt16_ft3_cos"), {9, 8}), 1e-6, 1e-6));
  EXPECT_TRUE(torch::allclose(buffers["freqs_sin"], numbers(rope.at("dim4_pt16_ft3_sin"), {9, 8}), 1e-6, 1e-6));
  expect_summary(eight.named_buffers()["freqs_cos"], rope.at("dim8_pt16_ft8_cos"), 2e-6, "8 x 8 grid");
  const Tensor turned = eva::rotate(numbers(rope.at("input_1x1x9x8"), {1, 1, 9, 8}), three.turns(3, 3));
  EXPECT_TRUE(torch::allclose(turned, numbers(rope.at("output"), {1, 1, 9, 8}), 1e-6, 1e-6));
}

TEST(EvaMini, WindowsAreCutPaddedAndJoinedLikeTheOriginals) {
  const json& cut = file().at("mini").at("window_partition");
  const Tensor x = torch::arange(70, torch::kFloat32).view({1, 5, 7, 2});
  const eva::Windows windows = eva::cut_windows(x, cut.at("window"));
  EXPECT_TRUE(torch::equal(windows.tokens, numbers(cut.at("windows"), {6, 3, 3, 2})));
  EXPECT_EQ((std::vector<std::int64_t>{windows.padded_height, windows.padded_width}),
            cut.at("pad_hw").get<std::vector<std::int64_t>>());
  EXPECT_TRUE(torch::equal(eva::join_windows(windows, 5, 7), x));
}

TEST(EvaMini, PositionsAreResizedLikeTheOriginals) {
  const json& bicubic = file().at("mini").at("abs_pos_bicubic");
  const Tensor out = eva::positions(numbers(bicubic.at("pos_embed_1x10x2_with_cls"), {1, 10, 2}), 5, 4);
  EXPECT_TRUE(torch::allclose(out, numbers(bicubic.at("output_1x5x4x2"), {1, 5, 4, 2}), 1e-6, 1e-6));
}

class EvaBackbone : public ::testing::TestWithParam<std::size_t> {
 protected:
  EvaBackbone() : data(file().at("backbone").at(GetParam())) {
    backbone = std::make_shared<eva::Backbone>(vit_options(file()), file().at("config").at("out_channels"));
    backbone->eval();
    golden::fill(*backbone, data.at("weights"), file(), "backbone.");
    pixels = golden::image(data.at("image"), data.at("input_shape").get<std::vector<std::int64_t>>());
  }
  const json& data;
  std::shared_ptr<eva::Backbone> backbone;
  Tensor pixels;
};

TEST_P(EvaBackbone, EveryBlockAndThePyramidAreTheOriginals) {
  std::set<std::string> seen;
  torch::NoGradGuard no_grad;
  const auto levels = backbone->forward(pixels, [&](const std::string& name, const Tensor& t) {
    const json& expected = data.at("intermediate").at(name);
    expect_summary(t, expected, tolerance_of(expected), name);
    seen.insert(name);
  });
  EXPECT_EQ(seen.size(), data.at("intermediate").size());
  for (std::size_t l = 0; l < 5; ++l) {
    const std::string name = "p" + std::to_string(l + 2);
    expect_summary(levels[l], data.at("pyramid").at(name), tolerance_of(data.at("pyramid").at(name)), name);
  }
}

TEST_P(EvaBackbone, GradientsAreTheOriginals) {
  const json& expected = data.at("grad_test");
  Tensor loss = torch::zeros({});
  for (const Tensor& level : backbone->forward(pixels)) {
    loss = loss + (level * golden::image("sine", level.sizes().vec())).mean();
  }
  EXPECT_TRUE(relative(loss.item<double>(), expected.at("loss"), 1e-4));
  const auto parameters = backbone->named_parameters();
  for (const auto& [name, norm] : expected.at("grad_l2").items()) {
    const auto gradient =
        torch::autograd::grad({loss}, {parameters[name.substr(std::string("backbone.").size())]}, {}, true);
    EXPECT_TRUE(relative(gradient[0].to(torch::kFloat64).norm().item<double>(), norm, 1e-3)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, EvaBackbone, ::testing::Values(0, 1),
                         [](const auto& which) { return which.param == 0 ? "sine" : "hash"; });

}  // namespace
}  // namespace eva_golden
