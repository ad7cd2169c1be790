// Laws of the transformer that no golden number shows.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "eva/pyramid.h"
#include "eva/recompute.h"

namespace eva {
namespace {

VitOptions small(std::int64_t input = 64) {
  VitOptions o;
  o.input_size = input;
  o.patch = 16;
  o.dim = 32;
  o.depth = 3;
  o.heads = 2;
  o.window = 2;
  o.global_blocks = {2};
  o.pretrain_size = 64;
  return o;
}

/// Far from the small start values, so that every part counts.
void stir(torch::nn::Module& module) {
  torch::NoGradGuard no_grad;
  for (auto& p : module.parameters()) p.add_(torch::randn_like(p) * 0.3);
}

Tensor plain_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  return (torch::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(q.size(-1)))).softmax(-1).matmul(v);
}

double largest(const Tensor& t) {
  return t.abs().max().item<double>();
}

class EvaAttention : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(EvaAttention, InBlocksOfAnySizeValuesAndGradientsAreThoseOfTheFormula) {
  torch::manual_seed(1);
  std::vector<Tensor> in;
  for (int i = 0; i < 3; ++i) in.push_back(torch::randn({3, 2, 7, 8}).requires_grad_());
  const Tensor pull = torch::randn({3, 2, 7, 8});
  const Tensor ours = attend_in_blocks(in[0], in[1], in[2], GetParam()), theirs = plain_attention(in[0], in[1], in[2]);
  EXPECT_LT(largest(ours - theirs), 1e-6);
  const auto a = torch::autograd::grad({ours}, in, {pull}), b = torch::autograd::grad({theirs}, in, {pull});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_LT(largest(a[i] - b[i]), 2e-6) << i;
  EXPECT_LT(largest(attend(in[0], in[1], in[2], GetParam()) - theirs), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Blocks, EvaAttention, ::testing::Values(1, 20, 49, 150, 100000));

TEST(EvaVit, AWindowThatCoversTheImageIsFullAttention) {
  torch::manual_seed(2);
  VitOptions windowed = small(), full = small();
  windowed.window = full.window = 4;
  windowed.global_blocks = {};
  full.global_blocks = {0, 1, 2};
  Vit a(windowed), b(full);
  stir(a);
  torch::NoGradGuard no_grad;
  const auto from = a.named_parameters();
  for (auto& p : b.named_parameters()) p.value().copy_(from[p.key()]);
  const Tensor pixels = torch::randn({2, 3, 64, 64});
  const Tensor x = a.forward(pixels), y = b.forward(pixels);
  EXPECT_LT(largest(x - y), 1e-5 * largest(y));
}

TEST(EvaVit, TokensOfOtherWindowsDoNotReachAWindow) {
  torch::manual_seed(3);
  VitOptions o = small();
  o.global_blocks = {};
  Vit net(o);
  stir(net);
  torch::NoGradGuard no_grad;
  const Tensor pixels = torch::randn({1, 3, 64, 64});
  Tensor other = pixels.clone();
  other.slice(3, 32).add_(1);  // the right half
  const Tensor change = (net.forward(pixels) - net.forward(other)).abs();
  EXPECT_EQ(largest(change.slice(3, 0, 2)), 0);
  EXPECT_GT(largest(change.slice(3, 2)), 0);
}

TEST(EvaVit, ASmallerImageSeesTheAnglesOfTheTopLeftAndALargerOneGoesOn) {
  const Rope rope(16, 16, 4), larger(16, 24, 6);  // the same angle per token
  const Tensor all = rope.turns(4, 4).view({4, 4, 8});
  EXPECT_TRUE(torch::equal(rope.turns(3, 2).view({3, 2, 8}), all.slice(0, 0, 3).slice(1, 0, 2)));
  EXPECT_LT(largest(torch::view_as_real(rope.turns(6, 5) - larger.turns(6, 5))), 1e-5);
}

TEST(EvaVit, InputsOfOtherSizesAndShapesWork) {
  Vit net(small());
  torch::NoGradGuard no_grad;
  EXPECT_EQ(net.forward(torch::rand({1, 3, 96, 32})).sizes().vec(), (std::vector<std::int64_t>{1, 32, 6, 2}));
  EXPECT_THROW(net.forward(torch::rand({1, 3, 60, 64})), std::invalid_argument);
}

TEST(EvaVit, ImpossibleOptionsAreRefusedByName) {
  const auto refused = [](auto change, const std::string& word) {
    VitOptions o = small();
    change(o);
    try {
      Vit net(o);
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
      return;
    }
    ADD_FAILURE() << word << " was not refused";
  };
  refused([](VitOptions& o) { o.heads = 5; }, "heads");
  refused([](VitOptions& o) { o.heads = 16; }, "multiple of 4");
  refused([](VitOptions& o) { o.global_blocks = {3}; }, "global_blocks");
  refused([](VitOptions& o) { o.input_size = 80; }, "input size");
  refused([](VitOptions& o) { o.drop_path = 1; }, "drop_path");
}

TEST(EvaVit, DropPathLeavesABranchOutOrCountsItMoreImageByImageSoThatTheMeanStays) {
  torch::manual_seed(4);
  VitOptions o = small();
  o.depth = 1;
  o.global_blocks = {0};
  o.drop_path = 0.6;
  Vit net(o);
  stir(net);
  torch::NoGradGuard no_grad;
  auto parameters = net.named_parameters();  // the second branch gives nothing, so that the first shows
  parameters["blocks.0.mlp.w3.weight"].zero_();
  parameters["blocks.0.mlp.w3.bias"].zero_();
  Tensor embedded;
  const auto watch = [&](const std::string& name, const Tensor& t) {
    if (name == "after_pos_embed") embedded = t.permute({0, 3, 1, 2});
  };
  const Tensor one = torch::randn({1, 3, 64, 64});
  net.eval();
  const Tensor whole = net.forward(one, watch);
  net.train();
  const Tensor many = net.forward(one.expand({400, 3, 64, 64}));
  const Tensor left_out = (many - embedded).abs().amax({1, 2, 3}) < 1e-4;
  const Tensor raised = (many - embedded - (whole - embedded) / 0.4).abs().amax({1, 2, 3}) < 1e-3;
  EXPECT_TRUE((left_out ^ raised).all().item<bool>());
  EXPECT_NEAR(left_out.sum().item<double>(), 240, 40);
}

TEST(EvaVit, LayerScaleOfZeroTurnsABlockOff) {
  torch::manual_seed(5);
  VitOptions o = small();
  o.layer_scale = 1e-5;
  Vit net(o);
  torch::NoGradGuard no_grad;
  auto parameters = net.named_parameters();
  ASSERT_TRUE(parameters.contains("blocks.2.gamma_1") && parameters.contains("blocks.0.gamma_2"));
  Tensor embedded, last;
  const auto watch = [&](const std::string& name, const Tensor& t) {
    if (name == "after_pos_embed") embedded = t;
    if (name == "block2") last = t;
  };
  for (auto& p : parameters) {
    if (p.key().find("gamma") != std::string::npos) p.value().zero_();
  }
  (void)net.forward(torch::randn({1, 3, 64, 64}), watch);
  EXPECT_TRUE(torch::equal(embedded, last));
}

TEST(EvaVit, RecomputedBlocksHaveTheSameValuesAndGradientsAlsoWithDropPath) {
  const auto run = [](bool recompute) {
    VitOptions o = small();
    o.drop_path = 0.4;
    o.recompute = recompute;
    torch::manual_seed(6);
    auto net = std::make_shared<Backbone>(o, 16);
    stir(*net);
    net->train();
    torch::manual_seed(7);
    const Tensor pixels = torch::randn({6, 3, 64, 64});
    Tensor loss = torch::zeros({});
    for (const auto& level : net->forward(pixels)) loss = loss + (level * level).mean();
    const Tensor next_number = torch::rand({1});
    loss.backward();
    std::vector<Tensor> out{loss.detach(), next_number, torch::rand({1})};
    for (const auto& p : net->parameters()) out.push_back(p.grad());
    return out;
  };
  const auto kept = run(false), again = run(true);
  ASSERT_EQ(kept.size(), again.size());
  EXPECT_TRUE(torch::equal(kept[1], again[1])) << "the forward pass draws other numbers";
  EXPECT_TRUE(torch::equal(kept[2], again[2])) << "the gradient moved the generator";
  for (std::size_t i = 0; i < kept.size(); ++i) {
    ASSERT_EQ(kept[i].defined(), again[i].defined()) << i;
    if (!kept[i].defined()) continue;
    EXPECT_LE(largest(kept[i] - again[i]), 1e-5 * std::max(1e-3, largest(kept[i]))) << i;
  }
}

TEST(EvaRecompute, GivesGradientsToTheInputAndToParametersUnderAutogradGrad) {
  const Tensor x = torch::randn({3}).requires_grad_(), w = torch::randn({3}).requires_grad_(),
               unused = torch::ones({3});
  const auto compute = [w](const Tensor& in) { return (in * w).sin(); };
  const auto ours = torch::autograd::grad({recomputed(compute, x, {w, unused}, false).sum()}, {x, w});
  const auto theirs = torch::autograd::grad({compute(x).sum()}, {x, w});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(torch::allclose(ours[i], theirs[i]));
}

}  // namespace
}  // namespace eva
