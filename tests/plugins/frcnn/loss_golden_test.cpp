// The original leaves soft labels and weights out of the RPN, and gives background regions the weight of their image's
// first target. Ours does neither, so the tests imitate both from our parts; everything else is our own.
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

#include "frcnn/loss.h"
#include "plugins/frcnn/golden_frcnn.h"
#include "two_stage/soft_losses.h"

namespace frcnn_golden {
namespace {

struct Truth {
  explicit Truth(const json& images) {
    std::vector<Tensor> box, soft, weight, hard, index;
    for (std::size_t b = 0; b < images.size(); ++b) {
      const json& t = images[b];
      const auto n = static_cast<std::int64_t>(t.at("boxes").size());
      box.push_back(golden::numbers(t.at("boxes"), {n, 4}));
      soft.push_back(golden::numbers(t.at("labels_soft_21_col0_background"), {n, 21}));
      weight.push_back(golden::numbers(t.at("weights"), {n}));
      hard.push_back(torch::tensor(t.at("labels_hard").get<std::vector<std::int64_t>>()) - 1);
      index.push_back(torch::full({n}, static_cast<std::int64_t>(b), torch::kInt64));
    }
    boxes = torch::cat(box);
    probs = torch::cat(soft).slice(1, 1).contiguous();
    weights = torch::cat(weight);
    labels = torch::cat(hard);
    image = torch::cat(index);
  }
  Tensor boxes, probs, weights, labels, image;
};

/// "rpn 24/0.5, roi 16/0.25", or one number for both.
frcnn::LossOptions options_of(const Case& c, const std::string& sampler) {
  frcnn::LossOptions out;
  out.proposals = c.proposals("train");
  const std::string text = c.data.at("sampler_settings").at(sampler);
  const auto number_after = [&](const std::string& word) {
    const auto at = text.find(word);
    return std::stoll(text.substr(at + word.size()));
  };
  const bool all = sampler == "select_all";
  out.rpn.sampler.per_image = number_after(all ? "batch_size_per_image " : "rpn ");
  out.regions.sampler.per_image = number_after(all ? "batch_size_per_image " : "roi ");
  const auto first = [](std::int64_t n) { return torch::arange(n, torch::kInt64); };
  out.rpn.sampler.permutation = first;
  out.regions.sampler.permutation = first;
  return out;
}

std::vector<std::int64_t> integers(const Tensor& t) {
  const Tensor flat = t.contiguous();
  return {flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel()};
}

std::vector<std::int64_t> integers(const json& list) {
  return list.get<std::vector<std::int64_t>>();
}

void expect_anchor_sample(const two_stage::AnchorSample& ours, std::int64_t anchors, const json& expected) {
  for (std::int64_t b = 0; b < 2; ++b) {
    const json& theirs = expected.at(static_cast<std::size_t>(b));
    const auto of_image = [&](const Tensor& rows) {
      return rows.index_select(0, ((rows >= b * anchors) & (rows < (b + 1) * anchors)).nonzero().squeeze(1)) -
             b * anchors;
    };
    EXPECT_EQ(of_image(ours.positive).size(0), theirs.at("n_pos").get<std::int64_t>());
    EXPECT_EQ(of_image(ours.negative).size(0), theirs.at("n_neg").get<std::int64_t>());
    EXPECT_EQ(integers(of_image(ours.positive)), integers(theirs.at("pos_anchor_indices")));
    EXPECT_EQ(integers(of_image(ours.negative).slice(0, 0, 10)), integers(theirs.at("neg_anchor_indices_first10")));
  }
}

/// Rows of proposals. With the sine weights the original's float32 and float64 runs order the proposals differently:
/// neighbours have the same objectness but for rounding. There, and only there, a row may be another of the same
/// objectness: `tie` is twice what those two runs differ by, and 0 where they agree on the order.
void expect_rows(const std::vector<std::int64_t>& ours, const std::vector<std::int64_t>& theirs, const Tensor& logits,
                 double tie) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == theirs[i]) continue;
    ASSERT_LT(std::max(ours[i], theirs[i]), logits.size(0)) << i << ": a target's own box has no objectness";
    const double apart = std::abs((logits[ours[i]] - logits[theirs[i]]).item<double>());
    EXPECT_TRUE(tie > 0 && apart <= tie) << "at " << i << " row " << ours[i] << ", not " << theirs[i]
                                         << "; their objectness differs by " << apart << ", tie " << tie;
  }
}

/// Twice the largest difference of objectness between the original's float32 and float64 runs; 0 where both give the
/// same proposals.
double tie_of(const Case& c) {
  if (c.data.at("float64_run_agrees").at("proposals").get<bool>()) return 0;
  double largest = 0;
  for (const json& level : c.data.at("rpn_objectness")) {
    largest = std::max(largest, level.at("max_abs_diff_f64").get<double>());
  }
  return 2 * largest;
}

void expect_regions(const two_stage::Regions& ours, const std::vector<two_stage::Proposals>& proposals,
                    const Tensor& labels, const json& expected, double tie) {
  for (std::size_t b = 0; b < 2; ++b) {
    const json& theirs = expected.at(b);
    const auto mine = [&](const Tensor& t) { return t.slice(0, ours.begin[b], ours.begin[b + 1]); };
    EXPECT_EQ(mine(ours.row).size(0), theirs.at("n").get<std::int64_t>());
    const Tensor positive = (mine(ours.target) >= 0).nonzero().squeeze(1), &logits = proposals[b].logits;
    EXPECT_EQ(positive.size(0), theirs.at("n_pos").get<std::int64_t>());
    expect_rows(integers(mine(ours.row).index_select(0, positive)), integers(theirs.at("pos_indices")), logits, tie);
    expect_rows(integers(mine(ours.row).slice(0, 0, 40)), integers(theirs.at("indices_first40")), logits, tie);
    EXPECT_EQ(integers(mine(labels).slice(0, 0, 40)), integers(theirs.at("labels_first40")));
  }
}

using Terms = std::map<std::string, Tensor>;

Tensor sum_of(const Terms& terms) {
  Tensor total = torch::zeros({});
  for (const auto& [name, value] : terms) total = total + value;
  return total;
}

void expect_losses(const Terms& ours, const json& kind) {
  ASSERT_EQ(ours.size(), kind.at("losses").size());
  for (const auto& [name, value] : ours) {
    EXPECT_TRUE(golden::relative(value.item<double>(), kind.at("losses").at("loss_" + name), 1e-4)) << name;
  }
  EXPECT_TRUE(golden::relative(sum_of(ours).item<double>(), kind.at("total"), 1e-4)) << "total";
}

void expect_gradients(frcnn::Network& net, const Tensor& total, const json& kind) {
  const auto parameters = net.named_parameters();
  std::vector<Tensor> inputs;
  std::vector<std::string> names;
  for (const auto& [name, norm] : kind.at("grad_l2").items()) {
    inputs.push_back(parameters[name]);
    names.push_back(name);
  }
  ASSERT_FALSE(names.empty());
  const auto gradients = torch::autograd::grad({total}, inputs, {}, /*retain_graph=*/true, false, true);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double norm = gradients[i].defined() ? gradients[i].to(torch::kFloat64).norm().item<double>() : 0.0;
    EXPECT_TRUE(golden::relative(norm, kind.at("grad_l2").at(names[i]), 1e-3)) << names[i];
  }
}

Terms named(const bdc::plugin::LossTerms& terms) {
  Terms out;
  for (const auto& [name, value] : terms.parts) out[name] = value;
  return out;
}

class FrcnnLoss : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FrcnnLoss, SamplesComponentsAndGradientsAreTheOriginals) {
  Case c(GetParam());
  const Truth truth(c.data.at("targets"));
  const auto scene = c.net->forward(c.pixels, c.contents);
  int checked = 0;
  for (const auto& [sampler, kinds] : c.data.at("losses").items()) {
    const frcnn::LossOptions options = options_of(c, sampler);
    const auto labels = frcnn::labels_of(*scene, truth.boxes, truth.image, {});
    const auto anchors = two_stage::sample_anchors(scene->rpn, labels.boxes, labels.begin, options.rpn);
    const auto rpn = two_stage::rpn_loss(scene->rpn, anchors, labels.boxes, {}, options.rpn);
    const auto proposals = two_stage::propose(scene->rpn, scene->sizes, options.proposals);
    std::vector<Tensor> boxes;
    for (const auto& p : proposals) boxes.push_back(p.boxes);
    const auto regions = two_stage::sample_regions(boxes, labels.boxes, labels.begin, options.regions);
    const auto out = c.net->look(*scene, regions.boxes, regions.image());
    // Background takes the weight of its image's first target.
    const Tensor first = torch::tensor(std::vector<std::int64_t>(labels.begin.begin(), labels.begin.end() - 1));
    const Tensor stand_in = torch::where(regions.target < 0, first.index_select(0, regions.image()), regions.target);
    const Tensor weights = truth.weights.index_select(0, stand_in);
    const Tensor one_hot = torch::one_hot(truth.labels, 20).to(torch::kFloat32);

    for (const auto& [name, kind] : kinds.items()) {
      SCOPED_TRACE(sampler + " " + name);
      ++checked;
      expect_anchor_sample(anchors, scene->rpn.anchors.size(0), kind.at("rpn_sampled"));
      expect_regions(regions, proposals, two_stage::region_classes(one_hot, regions.target, 0).argmax(1),
                     kind.at("roi_sampled"), tie_of(c));
      if (name == "hard") {
        const auto hard = frcnn::hard_loss(*c.net, *scene, {truth.boxes, truth.labels, truth.image}, options);
        expect_losses(named(hard), kind);
        expect_gradients(*c.net, hard.total, kind);
        const auto soft = frcnn::soft_loss(
            *c.net, *scene, {truth.boxes, one_hot, torch::ones_like(truth.weights), truth.image}, options);
        expect_losses(named(soft), kind);
        continue;
      }
      const Tensor classes =
          two_stage::region_classes(name == "soft_weighted" ? truth.probs : one_hot, regions.target, 0);
      const auto region = frcnn::region_loss(out, regions, labels.boxes, classes, weights);
      const Terms imitation{{"objectness", rpn.objectness},
                            {"rpn_box_reg", rpn.boxes},
                            {"classifier", region.classifier},
                            {"box_reg", region.boxes}};
      expect_losses(imitation, kind);
      expect_gradients(*c.net, sum_of(imitation), kind);
      if (name == "soft_weighted") {  // boxes of regions are weighted alike
        const auto ours =
            named(frcnn::soft_loss(*c.net, *scene, {truth.boxes, truth.probs, truth.weights, truth.image}, options));
        EXPECT_TRUE(golden::relative(ours.at("box_reg").item<double>(), kind.at("losses").at("loss_box_reg"), 1e-4));
      }
    }
  }
  EXPECT_EQ(checked, GetParam() == 0 ? 3 : 9);
}

INSTANTIATE_TEST_SUITE_P(Golden, FrcnnLoss, ::testing::Values(0, 1), case_name);

}  // namespace
}  // namespace frcnn_golden
