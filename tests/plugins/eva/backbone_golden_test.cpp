#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <set>

#include "plugins/eva/golden_eva.h"

namespace eva_golden {
namespace {

using golden::expect_summary;
using golden::numbers;
using golden::relative;
using golden::tolerance_of;

/// The tables of angles in the file: keys such as "dim4_pt16_ft3_cos", dim being half of a head's width.
struct Angles {
  Angles(const std::string& key) {
    const auto n = golden::numbers_in(key);
    width = 2 * static_cast<std::int64_t>(n.at(0));
    pretrain_grid = static_cast<std::int64_t>(n.at(1));
    grid = static_cast<std::int64_t>(n.at(2));
  }
  [[nodiscard]] eva::Rope rope() const { return eva::Rope(width, pretrain_grid, grid); }
  std::int64_t width, pretrain_grid, grid;
};

TEST(EvaMini, RotaryAnglesAndTurnedTokensAreTheOriginals) {
  const json& mini = file().at("mini").at("rope");
  const auto [input_key, input] = golden::entry(mini, "input_");
  const auto shape = golden::shape_in(input_key);  // 1 x heads x tokens x width
  int tables = 0, turned = 0;
  for (const auto& [key, expected] : mini.items()) {
    if (key.compare(0, 3, "dim") != 0) continue;
    SCOPED_TRACE(key);
    ++tables;
    const Angles angles(key);
    const eva::Rope rope = angles.rope();
    const bool cosine = golden::ends_with(key, "cos");
    const Tensor ours = rope.named_buffers()[cosine ? "freqs_cos" : "freqs_sin"];
    if (expected.is_array()) {
      EXPECT_TRUE(torch::allclose(ours, numbers(expected), 1e-6, 1e-6));
    } else {
      expect_summary(ours, expected, 2e-6, key);
    }
    if (!cosine || angles.width != shape.back() || angles.grid * angles.grid != shape[2]) continue;
    ++turned;
    const Tensor out = eva::rotate(numbers(input, shape), rope.turns(angles.grid, angles.grid));
    EXPECT_TRUE(torch::allclose(out, numbers(mini.at("output"), shape), 1e-6, 1e-6));
  }
  EXPECT_GT(tables, 0);
  EXPECT_EQ(turned, 1);
}

TEST(EvaMini, WindowsAreCutPaddedAndJoinedLikeTheOriginals) {
  const json& cut = file().at("mini").at("window_partition");
  const auto shape = golden::shape_in(cut.at("input"));  // of 0, 1, 2, ...
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  const Tensor x = torch::arange(count, torch::kFloat32).view(shape);
  const eva::Windows windows = eva::cut_windows(x, cut.at("window"));
  EXPECT_TRUE(torch::equal(windows.tokens, numbers(cut.at("windows"), golden::integers(cut.at("windows_shape")))));
  EXPECT_EQ((std::vector<std::int64_t>{windows.padded_height, windows.padded_width}),
            golden::integers(cut.at("pad_hw")));
  EXPECT_TRUE(torch::equal(eva::join_windows(windows, shape[1], shape[2]), x));
}

TEST(EvaMini, PositionsAreResizedLikeTheOriginals) {
  const json& bicubic = file().at("mini").at("abs_pos_bicubic");
  const auto size = golden::integers(bicubic.at("hw"));
  const Tensor out = eva::positions(numbers(golden::entry(bicubic, "pos_embed").second), size.at(0), size.at(1));
  EXPECT_TRUE(torch::allclose(out, numbers(golden::entry(bicubic, "output").second), 1e-6, 1e-6));
}

class EvaBackbone : public ::testing::TestWithParam<std::size_t> {
 protected:
  EvaBackbone() : data(file().at("backbone").at(GetParam())) {
    backbone = std::make_shared<eva::Backbone>(settings().network.vit, settings().network.pyramid_channels);
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
  ASSERT_EQ(levels.size(), data.at("pyramid").size());
  for (std::size_t l = 0; l < levels.size(); ++l) {
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

INSTANTIATE_TEST_SUITE_P(Golden, EvaBackbone, ::testing::ValuesIn(golden::case_numbers(file().at("backbone"))),
                         [](const auto& which) { return golden::case_name(file().at("backbone"), which.param); });

}  // namespace
}  // namespace eva_golden
