// The original weights its box loss by the product of two means, and scales both axes of a target by the image's height
// when it assigns. Ours does neither, so the tests imitate both from our parts; everything else is our own.
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "plugins/yolov7/golden_yolov7.h"
#include "yolov7/loss.h"

namespace yolov7_golden {
namespace {

using yolov7::Heads;
using yolov7::Pairs;

struct Labels {
  Labels(const json& loss, const Heads& heads) {
    const auto& rows = loss.at("targets");
    std::vector<float> flat;
    for (const auto& row : rows) {
      for (const auto& number : row) flat.push_back(number);
    }
    const Tensor table = torch::tensor(flat).view({static_cast<std::int64_t>(rows.size()), -1});
    image = table.select(1, 0).to(torch::kInt64);
    weights = table.select(1, 1).contiguous();
    probs = table.slice(1, 2, table.size(1) - 4).contiguous();
    const Tensor share = table.slice(1, table.size(1) - 4);
    const auto w = static_cast<float>(heads.input_width), h = static_cast<float>(heads.input_height);
    boxes = yolov7::to_corners(share * torch::tensor({w, h, w, h}));
    boxes_by_height = yolov7::to_corners(share * h);
    labels = torch::tensor(loss.at("hard_labels").get<std::vector<std::int64_t>>());
  }
  Tensor image, weights, probs, boxes, boxes_by_height, labels;
};

/// Rows (image, anchor, y, x, last) sorted; `last` is the target or its label.
std::vector<std::vector<std::int64_t>> table_of(const Heads& heads, std::size_t l, const Pairs& pairs,
                                                const Tensor& last) {
  const auto& level = heads.levels[l];
  const std::int64_t anchors = level.raw.size(0) / (heads.batch * level.height * level.width);
  std::vector<std::vector<std::int64_t>> out;
  for (std::int64_t i = 0; i < pairs.row.size(0); ++i) {
    const auto row = pairs.row[i].item<std::int64_t>(), target = pairs.target[i].item<std::int64_t>();
    const auto line = row / level.width, plane = line / level.height;
    out.push_back({plane / anchors, plane % anchors, line % level.height, row % level.width,
                   last.defined() ? last[target].item<std::int64_t>() : target});
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Sums {
  Tensor box = torch::zeros({}), obj = torch::zeros({}), cls = torch::zeros({});
};

/// The original's loss from our parts. `weights` undefined: none.
Sums imitation(const Heads& heads, const std::vector<Pairs>& assigned, const Labels& t, bool soft,
               const Tensor& weights) {
  Sums out;
  for (std::size_t l = 0; l < heads.levels.size(); ++l) {
    const Pairs& pairs = assigned[l];
    const Tensor w = weights.defined() ? weights.index_select(0, pairs.target) : Tensor();
    Tensor ciou;
    if (pairs.row.size(0) > 0) {
      const auto terms = pair_terms(heads.levels[l], pairs, t.boxes);
      ciou = terms.ciou;
      const Tensor wanted =
          soft ? t.probs.index_select(0, pairs.target)
               : torch::one_hot(t.labels.index_select(0, pairs.target), t.probs.size(1)).to(torch::kFloat32);
      const Tensor bce =
          torch::binary_cross_entropy_with_logits(terms.class_logits, wanted, {}, {}, at::Reduction::None);
      out.box = out.box + (1 - ciou).mean() * (w.defined() ? w.mean() : torch::ones({}));
      out.cls = out.cls + (w.defined() ? bce * w.unsqueeze(1) : bce).mean();
    }
    out.obj = out.obj + yolov7::kBalance[l] * objectness_loss(heads.levels[l], pairs, ciou, w);
  }
  return out;
}

/// One part of the loss for an image, as the original has it; ours are of the batch, like the total.
double for_an_image(const Tensor& part, const Heads& heads) {
  return part.item<double>() / static_cast<double>(heads.batch);
}

void expect_terms(const bdc::plugin::LossTerms& ours, const Heads& heads, const json& kind) {
  ASSERT_EQ(ours.parts.size(), 3U);
  double sum = 0;
  for (const auto& [name, value] : ours.parts) {
    EXPECT_TRUE(relative(for_an_image(value, heads), kind.at(name), 1e-4)) << name;
    sum += value.item<double>();
  }
  EXPECT_NEAR(sum, ours.total.item<double>(), 1e-5 * std::abs(sum)) << "the parts add up";
  EXPECT_TRUE(relative(ours.total.item<double>(), kind.at("returned_loss_times_batch"), 1e-4)) << "total";
}

void expect_gradients(yolov7::Network& net, const Tensor& total, const json& expected) {
  for (const auto& [name, gradient] : golden::gradients_of(net, total, expected)) {
    EXPECT_TRUE(relative(gradient.norm().item<double>(), expected.at(name), 1e-3)) << name;
  }
}

class Yolov7Loss : public ::testing::TestWithParam<CaseName> {};

TEST_P(Yolov7Loss, AssignmentsComponentsAndGradientsAreTheOriginals) {
  Case c(GetParam());
  const json& loss = c.data.at("loss");
  const auto heads = c.net->forward(c.pixels);
  const Labels t(loss, *heads);
  const bool square = heads->input_height == heads->input_width;
  const bdc::plugin::HardTargets hard{t.boxes, t.labels, t.image};
  for (std::size_t l = 0; l < loss.at("balance").size(); ++l) EXPECT_EQ(yolov7::kBalance[l], loss["balance"][l]);
  int checked = 0;
  for (const auto& [name, kind] : loss.at("kinds").items()) {
    if (golden::is_tie(kind)) continue;
    SCOPED_TRACE(name);
    ++checked;
    const bool plain = name == "ComputeLoss", soft = name.find("WithLogits") != std::string::npos;
    const bool weighted = name.size() > 9 && name.compare(name.size() - 9, 9, "_weighted") == 0;
    const auto fit = soft ? yolov7::fit_of_probs(t.probs) : yolov7::fit_of_labels(t.labels);
    const auto assigned = plain ? yolov7::candidates(*heads, t.boxes, t.image)
                                : yolov7::assign_optimal_transport(*heads, t.boxes, t.image, fit, t.boxes_by_height);
    ASSERT_EQ(kind.at("assignment").size(), heads->levels.size());
    for (std::size_t l = 0; l < heads->levels.size(); ++l) {
      auto expected = kind.at("assignment").at(l).get<std::vector<std::vector<std::int64_t>>>();
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(table_of(*heads, l, assigned[l], plain ? t.labels : Tensor()), expected) << "level " << l;
    }
    yolov7::LossOptions options;
    options.box_gain = loss.at("hyp_raw").at("box");
    options.obj_gain = loss.at("hyp_raw").at("obj");
    options.cls_gain = loss.at("hyp_raw").at("cls");
    options.assigner = plain ? yolov7::Assigner::plain : yolov7::Assigner::optimal_transport;
    const Sums sums = imitation(*heads, assigned, t, soft, weighted ? t.weights : Tensor());
    const auto imitated = total_loss(*heads, options, heads->batch, sums.box, sums.obj, sums.cls);
    expect_terms(imitated, *heads, kind);
    expect_gradients(*c.net, imitated.total, kind.at("grad_l2"));

    // Where the original is right, our own loss is its loss.
    if (plain || (square && !weighted)) {
      const Tensor one = torch::ones_like(t.weights);
      const auto ours =
          soft ? soft_loss(*heads, {t.boxes, t.probs, one, t.image}, options) : hard_loss(*heads, hard, options);
      SCOPED_TRACE("our own loss");
      expect_terms(ours, *heads, kind);
      expect_gradients(*c.net, ours.total, kind.at("grad_l2"));
    }
    if (square && weighted && soft) {  // and in all but the box term when there are weights
      const auto ours = soft_loss(*heads, {t.boxes, t.probs, t.weights, t.image}, options);
      for (const auto& [part, value] : ours.parts) {
        if (part == "box") continue;
        EXPECT_TRUE(relative(for_an_image(value, *heads), kind.at(part), 1e-4)) << part;
      }
    }
  }
  EXPECT_GT(checked, 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, Yolov7Loss, ::testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace yolov7_golden
