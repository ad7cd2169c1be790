// The laws of the plugin contract and the places where ours differs from the original program, on small random
// networks.
#include "eva/detector.h"

#include <map>
#include <set>

#include "eva/decode.h"
#include "parts/soft_losses.h"
#include "support/detector_laws.h"

namespace eva {
namespace {

using namespace laws;

Detector build(const Values& changed = {}, std::int64_t classes = kClasses, std::int64_t input = 64) {
  const auto count = [](std::int64_t n) { return bdc::plugin::OptionValue(n); };
  const Values small{{"size", std::string("ti")},
                     {"embed_dim", count(32)},
                     {"depth", count(3)},
                     {"heads", count(2)},
                     {"patch", count(8)},
                     {"window", count(4)},
                     {"pretrain_size", count(64)},
                     {"pyramid_channels", count(16)},
                     {"rpn_convs", count(1)},
                     {"head_convs", count(1)},
                     {"head_width", count(32)},
                     {"train_proposals", count(60)},
                     {"test_proposals", count(40)},
                     {"anchors_per_image", count(64)},
                     {"regions_per_image", count(32)}};
  torch::manual_seed(3);
  return Detector({classes, input, bdc::plugin::Options(option_values(Detector::describe(), small, changed))});
}

TEST(EvaDetector, OneHotAndWeightOneIsTheHardLoss) {
  Detector detector = build({{"drop_path", 0.3}});
  expect_one_hot_and_weight_one_is_the_hard_loss(detector);
}

TEST(EvaDetector, ATargetOfWeightZeroIsAsIfItWereNotThere) {
  Detector detector = build();
  expect_a_target_of_weight_zero_is_as_if_it_were_not_there(detector);
}

TEST(EvaDetector, NoTargetsGiveAFiniteLossWithAGradient) {
  Detector detector = build();
  (void)expect_no_targets_give_a_finite_loss_with_a_gradient(detector);
}

TEST(EvaDetector, OneClassTrainsAndPredicts) {
  Detector detector = build({}, 1);
  (void)expect_one_class_trains_and_predicts(detector);
}

TEST(EvaLoss, EveryStageWeighsARegionByItsOwnTargetAndBackgroundByOne) {
  NetworkOptions options;
  options.vit.input_size = 64;
  options.vit.patch = 8;
  options.vit.dim = 32;
  options.vit.depth = 1;
  options.vit.heads = 2;
  options.vit.window = 4;
  options.vit.global_blocks = {};
  options.classes = kClasses;
  options.pyramid_channels = 8;
  options.head_convs = 0;
  options.head_width = 16;
  torch::manual_seed(1);
  Network net(options);
  const auto features = net.forward(torch::rand({2, 3, 64, 64}), {{64, 64}, {64, 64}});
  const Targets t = some_targets(5, 2, 64, 64);
  LossOptions loss;
  loss.regions.sampler.permutation =
      loss.rpn.sampler.permutation = [](std::int64_t n) { return torch::arange(n, torch::kInt64); };
  const auto begin = parts::image_begin(t.image_index, 2);
  const auto proposals = boxes_of(parts::propose(features->rpn, features->images, loss.proposals));
  const auto stages = training_stages(net, *features, proposals, t.boxes, begin, loss.regions);
  const auto parts = soft_loss(net, *features, t, loss).parts;
  for (std::size_t s = 0; s < kStages; ++s) {
    const auto& regions = stages[s].regions;
    const auto n = regions.target.size(0);
    double cls = 0, box = 0;
    std::int64_t positives = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto target = regions.target[i].item<std::int64_t>();
      const Tensor log_probs = stages[s].scores.logits[i].log_softmax(0);
      if (target < 0) {
        cls -= log_probs[kClasses].item<double>();
        continue;
      }
      ++positives;
      const double weight = t.weights[target].item<double>();
      cls -= weight * (log_probs.slice(0, 0, kClasses) * t.class_probs[target]).sum().item<double>();
      const Tensor code = stage_coder(s).encode(t.boxes.slice(0, target, target + 1), regions.boxes.slice(0, i, i + 1));
      box += weight * (stages[s].scores.deltas[i] - code[0]).abs().sum().item<double>();
    }
    ASSERT_GT(positives, 0) << "stage " << s;
    ASSERT_LT(positives, n);
    EXPECT_NEAR(parts[2 * s].second.item<double>(), cls / static_cast<double>(n), 1e-5) << "stage " << s;
    EXPECT_NEAR(parts[2 * s + 1].second.item<double>(), box / static_cast<double>(n), 1e-5) << "stage " << s;
  }
}

TEST(EvaDecode, ClassVectorsAreTheMeanOfTheStagesAndSuppressionIgnoresClasses) {
  Detector detector = build();
  detector.module().eval();
  torch::NoGradGuard no_grad;
  for (auto& p : detector.module().named_parameters()) {
    if (p.key().find("cls_score") != std::string::npos) p.value().add_(torch::randn_like(p.value()) * 0.3);
  }
  const auto activations = detector.forward(picture(3, 64, 96));
  const auto& features = static_cast<const Features&>(*activations);
  const Predictions all = detector.decode(*activations, {0.0, 0.5, 20});
  auto& net = static_cast<Network&>(detector.module());
  parts::ProposalOptions proposals = LossOptions().proposals;
  proposals.before_suppression = proposals.after_suppression = 40;
  const Verdict verdict = judge(net, features, boxes_of(parts::propose(features.rpn, features.images, proposals)));
  const Tensor mean = (verdict.logits[0].softmax(1) + verdict.logits[1].softmax(1) + verdict.logits[2].softmax(1)) / 3;
  for (std::int64_t i = 0; i < all.scores.size(0); ++i) {
    const auto image = static_cast<std::size_t>(all.image_index[i].item<std::int64_t>());
    const Tensor same =
        (verdict.boxes.slice(0, verdict.begin[image], verdict.begin[image + 1]) - all.boxes[i]).abs().amax(1).argmin();
    const Tensor expected = mean[verdict.begin[image] + same.item<std::int64_t>()].slice(0, 0, kClasses);
    EXPECT_NEAR(all.scores[i].item<double>(), expected.max().item<double>(), 1e-6);
    EXPECT_LT((all.class_probs[i] - expected / expected.sum()).abs().max().item<double>(), 1e-5);
  }
  for (std::int64_t b = 0; b < 3; ++b) {
    const Tensor rows = (all.image_index == b).nonzero().squeeze(1);
    ASSERT_GT(rows.size(0), 1);
    EXPECT_LE(rows.size(0), 20);
    Tensor iou = parts::iou_matrix(all.boxes.index_select(0, rows), all.boxes.index_select(0, rows));
    iou.fill_diagonal_(0);
    EXPECT_LE(iou.max().item<double>(), 0.5);
  }
  const double middle = all.scores.median().item<double>();
  EXPECT_GT(detector.decode(*activations, {middle, 0.5, 20}).scores.min().item<double>(), middle);
  const Predictions none = detector.decode(*activations, {1.1, 0.5, 20});
  EXPECT_EQ(none.boxes.sizes().vec(), (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(none.class_probs.sizes().vec(), (std::vector<std::int64_t>{0, kClasses}));
}

TEST(EvaDetector, WhatStandsInThePaddingDoesNotMatterAndBoxesStayInsideTheImage) {
  Detector detector = build();
  detector.module().eval();
  torch::NoGradGuard no_grad;
  Images grey = picture(1, 64, 64);
  grey.meta[0].content_width = 40;
  grey.meta[0].content_height = 64;
  Images black = grey;
  black.pixels = grey.pixels.clone();
  black.pixels.slice(3, 40).zero_();
  const auto table = [&](const Images& images) {
    const Predictions p = detector.decode(*detector.forward(images), {0.0, 0.9, 30});
    EXPECT_LE(p.boxes.select(1, 2).max().item<double>(), 40);
    return torch::cat({p.boxes, p.class_probs}, 1);
  };
  EXPECT_TRUE(torch::equal(table(grey), table(black)));
}

TEST(EvaDetector, ActivationCheckpointingGivesTheSameLossAndGradients) {
  Detector kept = build({{"drop_path", 0.3}}), again = build({{"drop_path", 0.3}, {"activation_checkpointing", true}});
  const Images images = picture(3, 64, 64);
  const Targets t = some_targets(6, 3, 64, 64);
  const Pull a = pull(kept, images, t), b = pull(again, images, t);
  EXPECT_NEAR(a.loss, b.loss, 1e-6 * a.loss);
  EXPECT_LT((a.gradient - b.gradient).abs().max().item<double>(), 1e-5);
}

TEST(EvaDetector, GroupsDecayTheLearningRateByDepthAndSpareNormsBiasesAndPositions) {
  Detector detector = build({{"layer_decay", 0.5}, {"layer_scale", 0.1}});
  std::map<const void*, std::pair<double, double>> found;
  std::set<std::string> names;
  for (const auto& group : detector.parameter_groups()) {
    EXPECT_TRUE(names.insert(group.name).second) << group.name << " twice";
    for (const auto& p : group.parameters) {
      found[p.unsafeGetTensorImpl()] = {group.learning_rate_factor, group.weight_decay_factor};
    }
  }
  const auto parameters = detector.module().named_parameters();
  EXPECT_EQ(found.size(), parameters.size());
  const std::map<std::string, std::pair<double, double>> expected{
      {"backbone.net.pos_embed", {0.0625, 0}},
      {"backbone.net.patch_embed.proj.weight", {0.0625, 1}},
      {"backbone.net.patch_embed.proj.bias", {0.0625, 0}},
      {"backbone.net.blocks.0.attn.q_proj.weight", {0.125, 1}},
      {"backbone.net.blocks.0.attn.q_bias", {0.125, 0}},
      {"backbone.net.blocks.1.norm1.weight", {0.25, 0}},
      {"backbone.net.blocks.1.gamma_1", {0.25, 0}},
      {"backbone.net.blocks.2.mlp.w3.weight", {0.5, 1}},
      {"backbone.net.blocks.2.mlp.ffn_ln.weight", {0.5, 0}},
      {"backbone.simfp_2.0.weight", {1, 1}},
      {"backbone.simfp_5.1.norm.weight", {1, 0}},
      {"proposal_generator.rpn_head.conv.weight", {1, 1}},
      {"roi_heads.box_predictor.2.cls_score.bias", {1, 0}}};
  for (const auto& [name, factors] : expected) {
    ASSERT_TRUE(parameters.contains(name)) << name;
    EXPECT_EQ(found.at(parameters[name].unsafeGetTensorImpl()), factors) << name;
  }
}

/// Shapes of the l detector, from the file of the small one: its sizes replaced by those of l.
TEST(EvaSizes, TheLDetectorHasTheOfficialNamesAndShapesAndParameterCount) {
  const Settings settings = settings_of({80, 1024, bdc::plugin::Options(option_values(Detector::describe(), {}))});
  EXPECT_EQ(settings.network.vit.global_blocks, (std::vector<std::int64_t>{2, 5, 8, 11, 14, 17, 20, 23}));
  EXPECT_EQ(settings.layer_decay, 0.8);
  Network net(settings.network);
  std::map<std::string, std::vector<std::int64_t>> ours;
  std::int64_t count = 0;
  for (const auto& p : net.named_parameters()) {
    ours[p.key()] = p.value().sizes().vec();
    count += p.value().numel();
  }
  for (const auto& b : net.named_buffers()) ours[b.key()] = b.value().sizes().vec();
  std::map<std::string, std::vector<std::int64_t>> expected;
  const auto norm_conv = [&](const std::string& name, std::int64_t in, std::int64_t kernel) {
    expected[name + ".weight"] = {256, in, kernel, kernel};
    expected[name + ".norm.weight"] = expected[name + ".norm.bias"] = {256};
  };
  const auto layer = [&](const std::string& name, std::vector<std::int64_t> weight, std::int64_t bias) {
    expected[name + ".weight"] = std::move(weight);
    if (bias > 0) expected[name + ".bias"] = {bias};
  };
  const std::int64_t dim = 1024, hidden = 2730;
  layer("backbone.simfp_2.0", {dim, dim / 2, 2, 2}, dim / 2);
  layer("backbone.simfp_2.1", {dim / 2}, dim / 2);
  layer("backbone.simfp_2.3", {dim / 2, dim / 4, 2, 2}, dim / 4);
  layer("backbone.simfp_3.0", {dim, dim / 2, 2, 2}, dim / 2);
  norm_conv("backbone.simfp_2.4", dim / 4, 1);
  norm_conv("backbone.simfp_2.5", 256, 3);
  norm_conv("backbone.simfp_3.1", dim / 2, 1);
  norm_conv("backbone.simfp_3.2", 256, 3);
  norm_conv("backbone.simfp_4.0", dim, 1);
  norm_conv("backbone.simfp_4.1", 256, 3);
  norm_conv("backbone.simfp_5.1", dim, 1);
  norm_conv("backbone.simfp_5.2", 256, 3);
  expected["backbone.net.pos_embed"] = {1, 14 * 14 + 1, dim};
  layer("backbone.net.patch_embed.proj", {dim, 3, 16, 16}, dim);
  const auto rope = [&](const std::string& name, std::int64_t edge) {
    expected[name + ".freqs_cos"] = expected[name + ".freqs_sin"] = {edge * edge, 64};
  };
  rope("backbone.net.rope_win", 16);
  rope("backbone.net.rope_glb", 64);
  for (int k = 0; k < 24; ++k) {
    const std::string block = "backbone.net.blocks." + std::to_string(k) + ".";
    layer(block + "norm1", {dim}, dim);
    layer(block + "norm2", {dim}, dim);
    expected[block + "attn.q_bias"] = expected[block + "attn.v_bias"] = {dim};
    for (const char* which : {"q", "k", "v"}) layer(block + "attn." + which + "_proj", {dim, dim}, 0);
    layer(block + "attn.proj", {dim, dim}, dim);
    rope(block + "attn.rope", k % 3 == 2 ? 64 : 16);
    layer(block + "mlp.w1", {hidden, dim}, hidden);
    layer(block + "mlp.w2", {hidden, dim}, hidden);
    layer(block + "mlp.w3", {dim, hidden}, dim);
    layer(block + "mlp.ffn_ln", {hidden}, hidden);
  }
  const std::string rpn = "proposal_generator.rpn_head.";
  layer(rpn + "conv.conv0", {256, 256, 3, 3}, 256);
  layer(rpn + "conv.conv1", {256, 256, 3, 3}, 256);
  layer(rpn + "objectness_logits", {3, 256, 1, 1}, 3);
  layer(rpn + "anchor_deltas", {12, 256, 1, 1}, 12);
  for (int s = 0; s < 3; ++s) {
    const std::string head = "roi_heads.box_head." + std::to_string(s) + ".",
                      predictor = "roi_heads.box_predictor." + std::to_string(s) + ".";
    for (int i = 1; i <= 4; ++i) norm_conv(head + "conv" + std::to_string(i), 256, 3);
    layer(head + "fc1", {1024, 256 * 49}, 1024);
    layer(predictor + "cls_score", {81, 1024}, 81);
    layer(predictor + "bbox_pred", {4, 1024}, 4);
  }
  EXPECT_EQ(ours, expected);
  EXPECT_EQ(count, 358261454);
  std::cout << "parameters of the l detector with 80 classes: " << count << "\n";
}

TEST(EvaSizes, OptionsThatDoNotGoTogetherAreRefusedByName) {
  const auto refused = [](const Values& changed, const std::string& word) {
    try {
      (void)build(changed);
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
      return;
    }
    ADD_FAILURE() << word << " was not refused";
  };
  refused({{"global_blocks", std::string("1,x")}}, "global_blocks");
  refused({{"global_blocks", std::string("3")}}, "global_blocks");
  refused({{"global_blocks", std::string("99999999999")}}, "global_blocks");
  refused({{"patch", std::int64_t{12}}}, "patch");
  refused({{"heads", std::int64_t{3}}}, "heads");
  refused({{"embed_dim", std::int64_t{1}}}, "option 'embed_dim': expected a multiple of 4 x heads, ");
  refused({{"layer_decay", -0.5}}, "layer_decay");
  refused({{"layer_decay", 0.0}}, "layer_decay");
  refused({{"drop_path", -0.5}}, "drop_path");
}

}  // namespace
}  // namespace eva
