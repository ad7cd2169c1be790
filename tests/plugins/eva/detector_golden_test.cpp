// The whole detector against the original. The original forgets the weights in the first stage, gives background
// regions the weight of the target nearest to them and leaves the proposals' loss unweighted. Ours does none of this,
// so the tests imitate it from our parts; everything else is our own.
#include <torch/csrc/autograd/autograd.h>

#include <deque>
#include <map>

#include "eva/decode.h"
#include "eva/detector.h"
#include "parts/soft_losses.h"
#include "plugins/eva/golden_eva.h"

namespace eva_golden {
namespace {

using eva::boxes_of;
using eva::total_loss;
using eva::TrainedStage;
using golden::expect_summary;
using golden::numbers;
using golden::relative;
using golden::rows_of;

/// The file has no float64 run of whole detectors, so its rule (20 times what float32 and float64 differ by) is applied
/// to our own two runs; at least 2e-5 of the largest sample. The sine weights are of rank 2 and make norms divide by
/// next to nothing: only there does it exceed the latter by much.
double tolerance(const Tensor& ours, const Tensor& in_float64, const json& summary) {
  double largest = 0;
  for (const auto& s : summary.at("samples")) largest = std::max(largest, std::abs(s.get<double>()));
  return std::max(20 * (ours.detach() - in_float64.detach()).abs().max().item<double>(), 2e-5 * largest);
}

void expect_boxes(const Tensor& ours, const json& rows, const std::string& what) {
  const Tensor expected = golden::boxes(rows);
  ASSERT_GE(ours.size(0), expected.size(0)) << what;
  if (expected.size(0) == 0) return;
  EXPECT_LE((ours.slice(0, 0, expected.size(0)) - expected).abs().max().item<double>(), 1e-2) << what;
}

TEST(EvaFile, NamesShapesOrderAndConstantsAreThoseOfTheOfficialCheckpoint) {
  eva::Network net(settings().network);
  std::map<std::string, Tensor> ours;
  std::vector<std::string> order, theirs;
  for (const auto& item : net.named_parameters()) {
    ours[item.key()] = item.value();
    order.push_back(item.key());
  }
  for (const auto& item : net.named_buffers()) ours[item.key()] = item.value();
  EXPECT_EQ(ours.size(), file().at("n_state_dict").get<std::size_t>());
  for (const auto& row : file().at("state_dict")) {
    const std::string name = row.at(0);
    ASSERT_EQ(ours.count(name), 1U) << name << " is missing";
    EXPECT_EQ(ours[name].sizes().vec(), row.at(1).get<std::vector<std::int64_t>>()) << name;
    if (row.size() < 3) theirs.push_back(name);
  }
  EXPECT_EQ(order, theirs) << "parameters in another order";
  for (const auto& [name, values] : file().at("constant_tensors").items()) {
    if (values.is_array()) {
      EXPECT_TRUE(torch::allclose(ours.at(name), numbers(values, ours.at(name).sizes().vec()), 1e-6, 1e-6)) << name;
    } else {
      expect_summary(ours.at(name), values, 2e-6, name);
    }
  }
}

TEST(EvaFile, WeightRulesGiveTheExampleValues) {
  eva::Network net(settings().network);
  for (const auto& [rule, examples] : file().at("weights_rule_examples").items()) {
    golden::fill(net, rule, file());
    const auto all = net.named_parameters();
    for (const auto& example : examples) {
      const Tensor tensor = all[example.at("name").get<std::string>()];
      for (std::size_t i = 0; i < example.at("index").size(); ++i) {
        const auto at = example["index"][i].get<std::int64_t>();
        EXPECT_NEAR(tensor.data_ptr<float>()[at], example["value"][i].get<double>(), 1e-7) << rule << " " << example;
      }
    }
  }
}

TEST(EvaFile, WhatTheFileFixesAndThePluginDoesNotOfferAsAnOptionIsTheSame) {
  const json& config = file().at("config");
  ASSERT_EQ(config.at("cascade_iou").size(), eva::kStages);
  ASSERT_EQ(config.at("cascade_reg_weights").size(), eva::kStages);
  for (std::size_t s = 0; s < eva::kStages; ++s) {
    EXPECT_EQ(eva::kStageIou[s], config["cascade_iou"][s].get<double>());
    EXPECT_EQ(eva::stage_coder(s).weights, (config["cascade_reg_weights"][s].get<std::array<double, 4>>()));
  }
  const Tensor mean = numbers(config.at("pixel_mean")), deviation = numbers(config.at("pixel_std"));
  const Tensor white = eva::normalised(torch::ones({1, 3, 1, 1}), {{1, 1}}).flatten();
  EXPECT_TRUE(torch::allclose(white, (255 - mean) / deviation, 1e-6, 1e-6));
  const auto published = eva::Detector::describe().detections, given = detection_limits();
  EXPECT_EQ(published.min_score, given.min_score);
  EXPECT_EQ(published.nms_iou, given.nms_iou);
  EXPECT_EQ(published.max_per_image, given.max_per_image);
}

TEST(EvaMini, BoxCodesAreTheOriginals) {
  const json& mini = file().at("mini").at("box2box");
  parts::BoxCoder coder;
  coder.weights = mini.at("weights").get<std::array<double, 4>>();
  const Tensor from = numbers(mini.at("src")), to = numbers(mini.at("dst"));
  const Tensor codes = coder.encode(to, from);
  EXPECT_LE((codes - numbers(mini.at("deltas"))).abs().max().item<double>(), 1e-5);
  expect_boxes(coder.decode(codes, from).squeeze(1), mini.at("apply"), "decoded");
  const Tensor wild = coder.decode(numbers(mini.at("big_deltas")), from).squeeze(1);
  expect_boxes(wild, golden::entry(mini, "apply_big").second, "clamped");
}

/// 0..255, whole numbers.
Tensor grey_image(const golden::ImageRule& rule, const std::vector<std::int64_t>& shape, std::size_t k) {
  Tensor out = torch::empty(shape, torch::kFloat32);
  const std::uint32_t crc = golden::crc32(rule.name(k));
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    out.data_ptr<float>()[i] =
        static_cast<float>(rule.is_sine ? std::floor(255 * (0.5 + 0.5 * std::sin(0.013 * static_cast<double>(i))))
                                        : static_cast<double>(golden::hashed(i, crc) >> 24));
  }
  return out;
}

/// Deviation of the noise that the original's results were re-run with, in grey levels.
double noise_deviation() {
  return golden::number_after(file().at("stability_note"), "Gaussian noise of");
}

/// A case with its detector, its images and what the file says of its targets.
struct Whole {
  /// noise: 0 for none, otherwise the seed of some on the images.
  explicit Whole(std::size_t index, torch::ScalarType type = torch::kFloat32, std::uint64_t noise = 0)
      : data(file().at("full").at(index)), detector(settings()), loss(settings().loss) {
    net = &dynamic_cast<eva::Network&>(detector.module());
    classes = net->options().classes;
    golden::fill(*net, data.at("weights"), file());
    const json& shapes = data.at("image_shapes");
    const auto edge = file().at("config").at("img_size").get<std::int64_t>();
    const golden::ImageRule rule(data.at("images"));
    input.pixels = torch::zeros({rows_of(shapes), 3, edge, edge});
    torch::manual_seed(noise);
    for (std::size_t b = 0; b < shapes.size(); ++b) {
      const auto shape = golden::integers(shapes[b]);
      Tensor grey = grey_image(rule, shape, b);
      if (noise != 0) grey = grey + noise_deviation() * torch::randn_like(grey);
      images.push_back({shape[1], shape[2]});
      input.pixels[static_cast<std::int64_t>(b)].slice(1, 0, shape[1]).slice(2, 0, shape[2]).copy_(grey / 255);
      input.meta.push_back({static_cast<std::int64_t>(b), shape[2], shape[1], shape[2], shape[1], {}});
    }
    pixels = eva::normalised(input.pixels, images);
    std::vector<Tensor> box, label, prob, weight, image;
    begin.push_back(0);
    for (const auto& one : data.at("targets")) {
      const std::int64_t n = rows_of(one.at("boxes"));
      box.push_back(golden::boxes(one.at("boxes")));
      label.push_back(torch::tensor(golden::integers(one.at("gt_classes")), torch::kInt64));
      prob.push_back(numbers(golden::entry(one, "soft_").second, {n, classes + 1}));
      weight.push_back(numbers(one.at("weights"), {n}));
      image.push_back(torch::full({n}, static_cast<std::int64_t>(begin.size()) - 1, torch::kInt64));
      begin.push_back(begin.back() + n);
    }
    boxes = torch::cat(box);
    labels = torch::cat(label);
    EXPECT_EQ(torch::cat(prob).select(1, classes).abs().sum().item<double>(), 0) << "background comes last";
    probs = torch::cat(prob).slice(1, 0, classes).contiguous();
    weights = torch::cat(weight);
    image_index = torch::cat(image);
    net->to(type);
    for (Tensor* t : {&pixels, &boxes, &probs, &weights}) *t = t->to(type);
  }

  [[nodiscard]] std::vector<Tensor> fixed_proposals() const {
    std::vector<Tensor> out;
    for (const auto& one : data.at("fixed_proposals")) out.push_back(golden::boxes(one).to(boxes.scalar_type()));
    return out;
  }

  const json& data;
  eva::Detector detector;
  eva::Network* net;  ///< the detector's
  std::int64_t classes;
  bdc::plugin::Images input;
  std::vector<parts::ImageSize> images;
  Tensor pixels;  ///< normalised
  Tensor boxes, labels, probs, weights, image_index;
  std::vector<std::int64_t> begin;
  eva::LossOptions loss;
};

/// How many detections the file may have in an image: a score that differs from the limit by no more than rounding is
/// a tie.
struct Count {
  Count(eva::Network& net, const eva::Features& features, const std::vector<Tensor>& proposals)
      : fewest(with_limit(net, features, proposals, kRounding)),
        most(with_limit(net, features, proposals, -kRounding)) {}
  static constexpr double kRounding = 1e-5;  // of a score
  void expect(std::int64_t image, std::int64_t theirs) const {
    const auto in_image = [&](const bdc::plugin::Detections& all) {
      return (all.image_index == image).sum().item<std::int64_t>();
    };
    EXPECT_GE(theirs, in_image(fewest));
    EXPECT_LE(theirs, in_image(most));
  }
  bdc::plugin::Detections fewest, most;

 private:
  static bdc::plugin::Detections with_limit(eva::Network& net, const eva::Features& features,
                                            const std::vector<Tensor>& proposals, double higher) {
    auto limits = detection_limits();
    limits.min_score += higher;
    return eva::detections(net, features, proposals, limits);
  }
};

/// verdict: what the cascade says of the proposals that the detections were made of.
void expect_detections(const bdc::plugin::Detections& ours, const eva::Verdict& verdict, const Count& count,
                       const json& images) {
  Tensor logits = torch::zeros_like(verdict.logits[0]);
  for (const Tensor& stage : verdict.logits) logits = logits + stage / static_cast<double>(verdict.logits.size());
  ASSERT_EQ(verdict.begin.size(), images.size() + 1);
  for (std::size_t b = 0; b < images.size(); ++b) {
    SCOPED_TRACE("image " + std::to_string(b));
    const json& expected = images[b];
    const Tensor mine = (ours.image_index == static_cast<std::int64_t>(b)).nonzero().squeeze(1);
    count.expect(static_cast<std::int64_t>(b), expected.at("n"));
    const std::int64_t given = rows_of(expected.at("pred_classes"));
    ASSERT_GE(mine.size(0), given);
    if (given == 0) continue;
    const Tensor rows = mine.slice(0, 0, given), boxes = ours.boxes.index_select(0, rows);
    expect_boxes(boxes, expected.at("pred_boxes"), "boxes");
    EXPECT_EQ(golden::integers(ours.labels.index_select(0, rows)), golden::integers(expected.at("pred_classes")));
    const Tensor wanted = numbers(expected.at("scores"));
    EXPECT_LE((ours.scores.index_select(0, rows) - wanted).abs().max().item<double>(), 1e-5);

    const Tensor theirs = numbers(golden::entry(expected, "logits_first").second);
    const Tensor regions = verdict.boxes.slice(0, verdict.begin[b], verdict.begin[b + 1]);
    const Tensor apart = (boxes.slice(0, 0, theirs.size(0)).unsqueeze(1) - regions.unsqueeze(0)).abs().sum(2);
    const auto [distance, region] = apart.min(1);
    EXPECT_EQ(distance.max().item<double>(), 0) << "a detection's box is that of a region";
    const Tensor of_regions = logits.index_select(0, region + verdict.begin[b]).slice(1, 0, theirs.size(1));
    EXPECT_LE((of_regions - theirs).abs().max().item<double>(), 1e-4);
  }
}

class EvaWhole : public ::testing::TestWithParam<std::size_t> {};

TEST_P(EvaWhole, InputsPyramidProposalsAndDetectionsAreTheOriginals) {
  Whole c(GetParam());
  c.net->eval();
  torch::NoGradGuard no_grad;
  const json& eval = c.data.at("eval");
  expect_summary(c.pixels, eval.at("preprocessed").at("tensor"), 2e-6, "preprocessed");
  const auto features = c.net->forward(c.pixels, c.images);
  Whole wide(GetParam(), torch::kFloat64);
  const auto exact = wide.net->forward(wide.pixels, wide.images);
  ASSERT_EQ(features->levels.size(), eval.at("pyramid").size());
  ASSERT_EQ(features->raw.objectness.size(), eval.at("rpn_objectness").size());
  for (std::size_t l = 0; l < features->levels.size(); ++l) {
    const std::string name = "p" + std::to_string(l + 2);
    const auto matches = [&](const Tensor& ours, const Tensor& in_float64, const json& summary,
                             const std::string& what) {
      expect_summary(ours, summary, tolerance(ours, in_float64, summary), what + " " + name);
    };
    matches(features->levels[l], exact->levels[l], eval.at("pyramid").at(name), "pyramid");
    matches(features->raw.objectness[l], exact->raw.objectness[l], eval.at("rpn_objectness").at(l), "objectness");
    matches(features->raw.deltas[l], exact->raw.deltas[l], eval.at("rpn_deltas").at(l), "deltas");
  }
  std::int64_t first = 0;
  for (std::size_t l = 0; l < features->rpn.level.size(); ++l) {
    const std::string key = "anchors_p" + std::to_string(l + 2) + "_first";
    for (const auto& [name, rows] : eval.items()) {
      if (name.compare(0, key.size(), key) == 0) expect_boxes(features->rpn.anchors.slice(0, first), rows, name);
    }
    first += features->rpn.level[l];
  }

  const auto proposals = parts::propose(features->rpn, c.images, settings().test_proposals);
  ASSERT_EQ(proposals.size(), eval.at("proposals").size());
  for (std::size_t b = 0; b < proposals.size(); ++b) {
    const json& expected = eval.at("proposals").at(b);
    EXPECT_EQ(proposals[b].boxes.size(0), expected.at("n").get<std::int64_t>());
    expect_boxes(proposals[b].boxes, expected.at("boxes"), "proposals");
    const Tensor logits = numbers(expected.at("objectness_logits"));
    EXPECT_LE((proposals[b].logits.slice(0, 0, logits.size(0)) - logits).abs().max().item<double>(), 1e-5);
  }
  const auto limits = detection_limits();
  if (!golden::is_tie(eval.at("detections"))) {
    const auto activations = c.detector.forward(c.input);
    const auto own = boxes_of(proposals);
    expect_detections(c.detector.decode_detections(*activations, limits), judge(*c.net, *features, own),
                      Count(*c.net, *features, own), eval.at("detections"));
  }
  if (golden::is_tie(eval.at("detections_from_fixed_proposals"))) return;
  const auto fixed = c.fixed_proposals();
  expect_detections(eva::detections(*c.net, *features, fixed, limits), judge(*c.net, *features, fixed),
                    Count(*c.net, *features, fixed), eval.at("detections_from_fixed_proposals"));
}

/// The original's losses of the stages from ours, with its weights.
std::vector<eva::StageLoss> imitation(const Whole& c, const std::vector<TrainedStage>& stages, bool soft, bool weighted,
                                      const json& expected) {
  std::vector<eva::StageLoss> out;
  const Tensor probs = soft ? c.probs : torch::one_hot(c.labels, c.classes).to(c.probs.scalar_type());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const TrainedStage& stage = stages[s];
    const auto& begin = stage.regions.begin;
    Tensor trust;
    if (weighted && s > 0) {
      std::vector<Tensor> parts;
      for (std::size_t b = 0; b < c.images.size(); ++b) {
        const auto& row = expected.at("stages").at(s).at("weights").at(b);
        if (c.begin[b] == c.begin[b + 1]) {  // no target, so nobody's weight
          parts.push_back(torch::ones({begin[b + 1] - begin[b]}, c.weights.options()));
        } else {
          const Tensor iou = parts::iou_matrix(c.boxes.slice(0, c.begin[b], c.begin[b + 1]),
                                               stage.regions.boxes.slice(0, begin[b], begin[b + 1]));
          parts.push_back(c.weights.index_select(0, iou.argmax(0) + c.begin[b]));
        }
        EXPECT_TRUE(torch::allclose(parts.back().to(torch::kFloat32), numbers(row, {rows_of(row)}))) << "stage " << s;
      }
      trust = torch::cat(parts);
    } else {
      EXPECT_FALSE(expected.at("stages").at(s).contains("weights"));
    }
    out.push_back(stage_loss(s, stage, parts::region_classes(probs, stage.regions.target, c.classes), trust, c.boxes));
  }
  return out;
}

/// The boxes that one image's regions have in runs that differ in nothing but rounding, ours first. Proposals of equal
/// objectness change places and drop out for each other, so where the runs disagree theirs are compared as a set: each
/// coordinate they give is that of a candidate, one of some run's regions.
void expect_region_boxes(const std::vector<Tensor>& runs, const json& expected) {
  constexpr double kPixels = 1e-2;
  const Tensor& ours = runs.at(0);
  const bool agree = std::all_of(runs.begin(), runs.end(), [&](const Tensor& run) {
    return run.sizes() == ours.sizes() && (run.numel() == 0 || (run - ours).abs().max().item<double>() <= kPixels);
  });
  if (agree) {
    expect_summary(ours, expected, kPixels, "regions");
    return;
  }
  ASSERT_EQ(ours.sizes().vec(), golden::integers(expected.at("shape")));
  const Tensor candidates = torch::cat(runs);
  const auto samples = rows_of(expected.at("samples"));
  for (std::int64_t k = 0; k < samples; ++k) {
    const std::int64_t at = golden::sampled_at(ours.numel(), samples, k);
    const double theirs = expected.at("samples").at(static_cast<std::size_t>(k));
    EXPECT_LE((candidates.select(1, at % 4) - theirs).abs().min().item<double>(), kPixels)
        << theirs << " in place " << at << " is no candidate's";
  }
}

/// noisy: the same in runs that differ in nothing but rounding.
void expect_stages(const Whole& c, const std::vector<TrainedStage>& stages, const std::vector<TrainedStage>& exact,
                   const std::vector<std::vector<TrainedStage>>& noisy, const json& expected) {
  const Tensor class_of = torch::cat({c.labels, torch::full({1}, c.classes, torch::kInt64)});  // background last
  ASSERT_EQ(stages.size(), expected.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    SCOPED_TRACE("stage " + std::to_string(s));
    const json& wanted = expected.at(s);
    const auto& regions = stages[s].regions;
    for (std::size_t b = 0; b < c.images.size(); ++b) {
      EXPECT_EQ(regions.begin[b + 1] - regions.begin[b], wanted.at("n_proposals_per_image").at(b).get<std::int64_t>());
      const Tensor target = regions.target.slice(0, regions.begin[b], regions.begin[b + 1]);
      const Tensor row = torch::where(target < 0, torch::full_like(target, c.labels.size(0)), target);
      EXPECT_EQ(golden::integers(class_of.index_select(0, row)), golden::integers(wanted.at("gt_classes").at(b)));
      const auto boxes = [&](const parts::Regions& r) { return r.boxes.slice(0, r.begin[b], r.begin[b + 1]); };
      std::vector<Tensor> runs{boxes(regions)};
      for (const auto& run : noisy) runs.push_back(boxes(run.at(s).regions));
      expect_region_boxes(runs, wanted.at("proposal_boxes").at(b));
    }
    ASSERT_EQ(regions.begin, exact[s].regions.begin) << "float64 chooses other regions";
    const auto matches = [&](const Tensor& ours, const Tensor& in_float64, const char* what) {
      expect_summary(ours, wanted.at(what), tolerance(ours, in_float64, wanted.at(what)), what);
    };
    matches(stages[s].scores.logits, exact[s].scores.logits, "class_logits");
    matches(stages[s].scores.deltas, exact[s].scores.deltas, "box_deltas");
  }
}

/// runs: the same losses in runs that differ in nothing but rounding, ours first.
void expect_losses(const std::vector<bdc::plugin::LossTerms>& runs, const json& expected) {
  const json& losses = expected.at("losses");
  const auto& ours = runs.at(0).parts;
  ASSERT_EQ(ours.size(), losses.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string& name = ours[i].first;
    const bool rpn = name.compare(0, 3, "rpn") == 0;
    const std::string theirs =
        rpn ? "loss_" + name
            : "loss_" + std::string(name.compare(0, 3, "cls") == 0 ? "cls" : "box_reg") + "_stage" + name.substr(3);
    std::vector<double> values;
    for (const auto& run : runs) values.push_back(run.parts.at(i).second.item<double>());
    golden::expect_number(values, losses.at(theirs), 1e-4, name);
  }
  std::vector<double> totals;
  for (const auto& run : runs) totals.push_back(run.total.item<double>());
  golden::expect_number(totals, expected.at("total"), 1e-4, "total");
}

using Gradients = std::map<std::string, Tensor>;

/// Within 1e-3. Where rounding turns an activation or the sign of a box error over it is a tie, and within 3 times what
/// that does to our own gradients: `others` are runs that differ from ours in nothing but rounding.
void expect_gradients(const Gradients& ours, const Gradients& in_float64, const std::vector<Gradients>& others,
                      const json& expected) {
  ASSERT_EQ(ours.size(), expected.size());
  for (const auto& [name, gradient] : ours) {
    double rounding = (gradient - in_float64.at(name)).norm().item<double>();
    for (const Gradients& other : others) {
      rounding = std::max(rounding, (other.at(name) - in_float64.at(name)).norm().item<double>());
    }
    const double wanted = expected.at(name);
    EXPECT_NEAR(gradient.norm().item<double>(), wanted, std::max(1e-3 * wanted, 3 * rounding)) << name;
  }
}

/// One step of training, with the original's weights.
struct Step {
  /// proposals: given ones, or the network's own when empty.
  Step(Whole& c, const eva::Features& features, const std::vector<Tensor>& proposals, const std::string& kind,
       const json& expected) {
    const bool soft = kind.find("soft") == 0, weighted = golden::ends_with(kind, "_weighted"), own = proposals.empty();
    anchors = sample_anchors(features.rpn, c.boxes, c.begin, c.loss.rpn);
    stages = training_stages(*c.net, features,
                             own ? boxes_of(parts::propose(features.rpn, c.images, c.loss.proposals)) : proposals,
                             c.boxes, c.begin, c.loss.regions);
    const auto rpn = own ? rpn_loss(features.rpn, anchors, c.boxes, {}, c.loss.rpn)
                         : parts::RpnLoss{torch::zeros({}), torch::zeros({})};
    terms = total_loss(imitation(c, stages, soft, weighted, expected), rpn);
    if (!own) terms.parts.resize(2 * eva::kStages);  // the cascade alone
    gradients = golden::gradients_of(*c.net, terms.total, expected.at("grad_l2"));
  }
  parts::AnchorSample anchors;
  std::vector<TrainedStage> stages;
  bdc::plugin::LossTerms terms;
  Gradients gradients;
};

/// What the same step gives in runs that differ in nothing but rounding.
struct Others {
  std::vector<std::vector<TrainedStage>> stages;
  std::vector<Gradients> gradients;
  std::vector<bdc::plugin::LossTerms> terms;
  [[nodiscard]] std::vector<bdc::plugin::LossTerms> after(const bdc::plugin::LossTerms& ours) const {
    std::vector<bdc::plugin::LossTerms> out{ours};
    out.insert(out.end(), terms.begin(), terms.end());
    return out;
  }
};

/// A case in runs that differ in nothing but rounding. The sine weights are of rank 2, so that activations that ought
/// to be 0 are rounding, and norms divide by next to nothing: which of them pass and which do not is a tie, and every
/// machine and number of threads decides it anew. (The original's own gradients come out half or twice as large on
/// another processor.) What such a decision does is measured with the noise that the original's labels are stable
/// under.
struct Runs {
  explicit Runs(std::size_t index) : own(index), wide(index, torch::kFloat64) {
    constexpr std::uint64_t kNoisy = 4;
    if (own.data.at("weights") == "sine") {
      for (std::uint64_t seed = 1; seed <= kNoisy; ++seed) noisy.emplace_back(index, torch::kFloat32, seed);
    }
    features = own.net->forward(own.pixels, own.images);
    exact = wide.net->forward(wide.pixels, wide.images);
    for (Whole& w : noisy) others.push_back(w.net->forward(w.pixels, w.images));
  }
  /// The noisy runs' steps.
  [[nodiscard]] Others noisy_steps(const std::vector<Tensor>& proposals, const std::string& kind,
                                   const json& expected) {
    Others out;
    for (std::size_t i = 0; i < noisy.size(); ++i) {
      const Step step(noisy[i], *others[i], proposals, kind, expected);
      out.stages.push_back(step.stages);
      out.gradients.push_back(step.gradients);
      out.terms.push_back(step.terms);
    }
    return out;
  }
  Whole own, wide;
  std::deque<Whole> noisy;
  std::unique_ptr<eva::Features> features, exact;
  std::vector<std::unique_ptr<eva::Features>> others;
};

TEST_P(EvaWhole, RegionsLossesAndGradientsAreTheOriginals) {
  Runs runs(GetParam());
  Whole &c = runs.own, &wide = runs.wide;
  const eva::Features &features = *runs.features, &exact = *runs.exact;
  const std::int64_t anchors = features.rpn.anchors.size(0);
  int checked = 0;
  for (const auto& [kind, expected] : c.data.at("train").at("full_model").items()) {
    if (golden::is_tie(expected)) continue;
    SCOPED_TRACE(kind);
    ++checked;
    const Step step(c, features, {}, kind, expected), in_float64(wide, exact, {}, kind, expected);
    ASSERT_EQ(expected.at("rpn_label_counts").size(), c.images.size());
    for (std::int64_t b = 0; b < rows_of(expected.at("rpn_label_counts")); ++b) {
      const json& counts = expected.at("rpn_label_counts").at(static_cast<std::size_t>(b));
      const auto in_image = [&](const Tensor& rows) {
        return rows.masked_select((rows >= b * anchors) & (rows < (b + 1) * anchors)) - b * anchors;
      };
      EXPECT_EQ(golden::integers(in_image(step.anchors.positive)), golden::integers(counts.at("pos_indices")));
      EXPECT_EQ(in_image(step.anchors.negative).size(0), counts.at("neg").get<std::int64_t>());
    }
    const Others others = runs.noisy_steps({}, kind, expected);
    expect_stages(c, step.stages, in_float64.stages, others.stages, expected.at("stages"));
    expect_losses(others.after(step.terms), expected);
    expect_gradients(step.gradients, in_float64.gradients, others.gradients, expected.at("grad_l2"));
    if (golden::ends_with(kind, "_weighted")) continue;
    SCOPED_TRACE("our own loss");  // where the original is right, it is the original's
    const Tensor one = torch::ones_like(c.weights);
    const auto ours = kind == "hard" ? hard_loss(*c.net, features, {c.boxes, c.labels, c.image_index}, c.loss)
                                     : soft_loss(*c.net, features, {c.boxes, c.probs, one, c.image_index}, c.loss);
    expect_losses(others.after(ours), expected);
    expect_gradients(golden::gradients_of(*c.net, ours.total, expected.at("grad_l2")), in_float64.gradients,
                     others.gradients, expected.at("grad_l2"));
  }
  EXPECT_GT(checked, 0);
}

TEST_P(EvaWhole, TheCascadeOnGivenProposalsIsTheOriginals) {
  Runs runs(GetParam());
  int checked = 0;
  for (const auto& [kind, expected] : runs.own.data.at("train").at("fixed_proposals").items()) {
    if (golden::is_tie(expected)) continue;
    SCOPED_TRACE(kind);
    ++checked;
    const auto given = runs.own.fixed_proposals();
    const Step step(runs.own, *runs.features, given, kind, expected),
        in_float64(runs.wide, *runs.exact, runs.wide.fixed_proposals(), kind, expected);
    const Others others = runs.noisy_steps(given, kind, expected);
    expect_stages(runs.own, step.stages, in_float64.stages, others.stages, expected.at("stages"));
    expect_losses(others.after(step.terms), expected);
    expect_gradients(step.gradients, in_float64.gradients, others.gradients, expected.at("grad_l2"));
  }
  EXPECT_GT(checked, 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, EvaWhole, ::testing::ValuesIn(golden::case_numbers(file().at("full"))),
                         [](const auto& which) { return golden::case_name(file().at("full"), which.param); });

}  // namespace
}  // namespace eva_golden
