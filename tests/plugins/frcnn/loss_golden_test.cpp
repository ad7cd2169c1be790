// The original leaves soft labels and weights out of the RPN, and gives background regions the weight of their image's
// first target. Ours does neither, so the tests imitate both from our parts; everything else is our own.
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

#include "frcnn/loss.h"
#include "parts/soft_losses.h"
#include "plugins/frcnn/golden_frcnn.h"

namespace frcnn_golden {
namespace {

struct Truth {
  explicit Truth(const json& images) {
    std::vector<Tensor> box, soft, weight, hard, index;
    for (std::size_t b = 0; b < images.size(); ++b) {
      const json& t = images[b];
      const std::int64_t n = golden::rows_of(t.at("boxes"));
      box.push_back(golden::boxes(t.at("boxes")));
      soft.push_back(golden::numbers(golden::entry(t, "labels_soft").second, {n, num_classes() + 1}));
      weight.push_back(golden::numbers(t.at("weights"), {n}));
      hard.push_back(torch::tensor(golden::integers(t.at("labels_hard")), torch::kInt64) - 1);
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

using golden::expect_number;
using golden::integers;

/// "rpn 24/0.5, roi 16/0.25", or one number for both.
frcnn::LossOptions options_of(const Case& c, const std::string& sampler) {
  frcnn::LossOptions out;
  out.proposals = c.proposals("train");
  const auto n = golden::numbers_in(c.data.at("sampler_settings").at(sampler));
  out.rpn.sampler.per_image = static_cast<std::int64_t>(n.at(0));
  out.regions.sampler.per_image = static_cast<std::int64_t>(n.size() == 1 ? n[0] : n.at(2));
  if (n.size() > 1) {
    out.rpn.sampler.positive_share = n[1];
    out.regions.sampler.positive_share = n.at(3);
  }
  const auto first = [](std::int64_t count) { return torch::arange(count, torch::kInt64); };
  out.rpn.sampler.permutation = first;
  out.regions.sampler.permutation = first;
  return out;
}

void expect_anchor_sample(const parts::AnchorSample& ours, std::int64_t anchors, std::size_t images,
                          const json& expected) {
  ASSERT_EQ(expected.size(), images);
  for (std::int64_t b = 0; b < golden::rows_of(expected); ++b) {
    const json& theirs = expected.at(static_cast<std::size_t>(b));
    const auto of_image = [&](const Tensor& rows) {
      return rows.index_select(0, ((rows >= b * anchors) & (rows < (b + 1) * anchors)).nonzero().squeeze(1)) -
             b * anchors;
    };
    EXPECT_EQ(of_image(ours.positive).size(0), theirs.at("n_pos").get<std::int64_t>());
    EXPECT_EQ(of_image(ours.negative).size(0), theirs.at("n_neg").get<std::int64_t>());
    EXPECT_EQ(integers(of_image(ours.positive)), integers(theirs.at("pos_anchor_indices")));
    const auto first = integers(golden::entry(theirs, "neg_anchor_indices_first").second);
    EXPECT_EQ(integers(of_image(ours.negative).slice(0, 0, static_cast<std::int64_t>(first.size()))), first);
  }
}

/// What comes of one run: regions sampled from its proposals, and what the second stage says of them.
struct Sampled {
  Sampled(frcnn::Network& net, frcnn::Scene given, const frcnn::Labels& labels, const frcnn::LossOptions& options)
      : scene(std::move(given)) {
    std::vector<Tensor> boxes;
    for (const auto& p : parts::propose(scene.rpn, scene.sizes, options.proposals)) boxes.push_back(p.boxes);
    regions = parts::sample_regions(boxes, labels.boxes, labels.begin, options.regions);
    out = net.look(scene, regions.boxes, regions.image());
  }
  frcnn::Scene scene;
  parts::Regions regions;
  frcnn::RegionOutputs out;
};

/// Whether the original's own runs choose other proposals: its float32 and float64 runs, or those with a little noise.
bool proposals_are_ties(const json& of_case) {
  if (!of_case.at("float64_run_agrees").at("proposals").get<bool>()) return true;
  for (const auto& kinds : of_case.at("losses")) {
    for (const auto& kind : kinds) {
      if (!kind.value("samples_same_under_noise", true)) return true;
    }
  }
  return false;
}

/// Runs that differ in nothing but rounding, ours first. With the sine weights neighbouring anchors have the same
/// objectness but for rounding, so which of them become proposals is a tie: the original's own runs disagree, and every
/// machine and number of threads decides it anew. There, and only there, the RPN's outputs are moved by up to twice
/// what its float32 and float64 runs differ by, and what depends on that is compared as a tie.
std::vector<Sampled> runs_of(const Case& c, const frcnn::Scene& scene, const frcnn::Labels& labels,
                             const frcnn::LossOptions& options) {
  std::vector<Sampled> out;
  out.emplace_back(*c.net, scene, labels, options);
  if (!proposals_are_ties(c.data)) return out;
  constexpr int kMoved = 6;
  const auto largest = [&](const char* what) {
    double most = 0;
    for (const json& level : c.data.at(what)) most = std::max(most, level.at("max_abs_diff_f64").get<double>());
    return 2 * most;
  };
  torch::manual_seed(7);
  for (int i = 0; i < kMoved; ++i) {
    const auto moved = [](const Tensor& t, double by) { return t + (torch::rand_like(t) * 2 - 1) * by; };
    frcnn::Scene other = scene;
    other.rpn.objectness = moved(scene.rpn.objectness, largest("rpn_objectness"));
    other.rpn.deltas = moved(scene.rpn.deltas, largest("rpn_bbox_deltas"));
    out.emplace_back(*c.net, std::move(other), labels, options);
  }
  return out;
}

/// Lists that the runs give, ours first: where they agree, theirs must agree with them. `tied(i, values)` judges their
/// entry i where the runs have different values there; past a run's end there is none.
template <typename Tied>
void expect_list(const std::vector<std::vector<std::int64_t>>& runs, const std::vector<std::int64_t>& theirs,
                 const Tied& tied) {
  const bool same_length =
      std::all_of(runs.begin(), runs.end(), [&](const auto& r) { return r.size() == runs[0].size(); });
  if (same_length) {
    ASSERT_EQ(runs[0].size(), theirs.size());
  }
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    std::vector<double> values;
    for (const auto& run : runs) {
      if (i < run.size()) values.push_back(static_cast<double>(run[i]));
    }
    const bool agree = values.size() == runs.size() &&
                       std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; });
    if (agree) {
      EXPECT_EQ(runs[0][i], theirs[i]) << "at " << i;
    } else if (!values.empty()) {
      tied(i, values);
    }
  }
}

/// Places among the proposals: those of equal objectness change theirs, so a tied place lies near the runs'.
void expect_places(const std::vector<std::vector<std::int64_t>>& runs, const std::vector<std::int64_t>& theirs) {
  expect_list(runs, theirs, [&](std::size_t i, const std::vector<double>& values) {
    expect_number(values, static_cast<double>(theirs[i]), 0, "place " + std::to_string(i));
  });
}

/// Classes of the regions at those places: a tied one is the background's or that of a target of the image.
void expect_classes(const std::vector<std::vector<std::int64_t>>& runs, const std::vector<std::int64_t>& theirs,
                    const std::vector<std::int64_t>& of_targets) {
  expect_list(runs, theirs, [&](std::size_t i, const std::vector<double>&) {
    const bool known = std::find(of_targets.begin(), of_targets.end(), theirs[i]) != of_targets.end();
    EXPECT_TRUE(theirs[i] == 0 || known) << "class " << theirs[i] << " at " << i;
  });
}

/// one_hot: T x J, the targets' hard labels. targets: the file's, image by image.
void expect_regions(const std::vector<Sampled>& runs, const Tensor& one_hot, const json& targets,
                    const json& expected) {
  for (std::size_t b = 0; b < expected.size(); ++b) {
    SCOPED_TRACE("image " + std::to_string(b));
    const json& theirs = expected.at(b);
    const auto positives = integers(theirs.at("pos_indices")),
               rows = integers(golden::entry(theirs, "indices_first").second),
               classes = integers(golden::entry(theirs, "labels_first").second);
    std::vector<double> count, positive_count;
    std::vector<std::vector<std::int64_t>> positive_lists, row_lists, class_lists;
    for (const Sampled& run : runs) {
      const auto& regions = run.regions;
      ASSERT_EQ(regions.begin.size(), expected.size() + 1);
      const auto mine = [&](const Tensor& t) { return t.slice(0, regions.begin[b], regions.begin[b + 1]); };
      const auto first = [&](const Tensor& t, const std::vector<std::int64_t>& as_many) {
        return integers(mine(t).slice(0, 0, static_cast<std::int64_t>(as_many.size())));
      };
      const Tensor positive = (mine(regions.target) >= 0).nonzero().squeeze(1);
      count.push_back(static_cast<double>(mine(regions.row).size(0)));
      positive_count.push_back(static_cast<double>(positive.size(0)));
      positive_lists.push_back(integers(mine(regions.row).index_select(0, positive)));
      row_lists.push_back(first(regions.row, rows));
      class_lists.push_back(first(parts::region_classes(one_hot, regions.target, 0).argmax(1), classes));
    }
    expect_number(count, theirs.at("n"), 0, "regions");
    expect_number(positive_count, theirs.at("n_pos"), 0, "positive regions");
    expect_places(positive_lists, positives);
    expect_places(row_lists, rows);
    expect_classes(class_lists, classes, integers(targets.at(b).at("labels_hard")));
  }
}

using Terms = std::map<std::string, Tensor>;

Tensor sum_of(const Terms& terms) {
  Tensor total = torch::zeros({});
  for (const auto& [name, value] : terms) total = total + value;
  return total;
}

/// runs: the same losses in every run, ours first.
void expect_losses(const std::vector<Terms>& runs, const json& kind) {
  const auto each = [&](const auto& value_of) {
    std::vector<double> out;
    for (const Terms& terms : runs) out.push_back(value_of(terms).template item<double>());
    return out;
  };
  ASSERT_EQ(runs[0].size(), kind.at("losses").size());
  for (const auto& term : runs[0]) {
    const std::string& name = term.first;
    expect_number(each([&](const Terms& t) { return t.at(name); }), kind.at("losses").at("loss_" + name), 1e-4, name);
  }
  expect_number(each(sum_of), kind.at("total"), 1e-4, "total");
}

void expect_gradients(frcnn::Network& net, const std::vector<Tensor>& totals, const json& kind) {
  std::map<std::string, std::vector<double>> norms;
  for (const Tensor& total : totals) {
    for (const auto& [name, gradient] : golden::gradients_of(net, total, kind.at("grad_l2"))) {
      norms[name].push_back(gradient.norm().item<double>());
    }
  }
  ASSERT_FALSE(norms.empty());
  for (const auto& [name, values] : norms) expect_number(values, kind.at("grad_l2").at(name), 1e-3, name);
}

Terms named(const bdc::plugin::LossTerms& terms) {
  Terms out;
  for (const auto& [name, value] : terms.parts) out[name] = value;
  return out;
}

/// Background takes the weight of its image's first target, 1 where the image has none.
Tensor originals_weights(const Truth& truth, const frcnn::Labels& labels, const parts::Regions& regions) {
  std::vector<std::int64_t> first;
  for (std::size_t b = 0; b + 1 < labels.begin.size(); ++b) {
    first.push_back(labels.begin[b] < labels.begin[b + 1] ? labels.begin[b] : truth.weights.size(0));
  }
  const Tensor row =
      torch::where(regions.target < 0, torch::tensor(first).index_select(0, regions.image()), regions.target);
  return torch::cat({truth.weights, torch::ones({1})}).index_select(0, row);
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
    const auto anchors = parts::sample_anchors(scene->rpn, labels.boxes, labels.begin, options.rpn);
    const auto rpn = parts::rpn_loss(scene->rpn, anchors, labels.boxes, {}, options.rpn);
    const std::vector<Sampled> runs = runs_of(c, *scene, labels, options);
    const Tensor one_hot = torch::one_hot(truth.labels, num_classes()).to(torch::kFloat32);
    const auto in_all = [&](const auto& terms_of) {
      std::vector<Terms> out;
      for (const Sampled& run : runs) out.push_back(terms_of(run));
      return out;
    };

    for (const auto& [name, kind] : kinds.items()) {
      SCOPED_TRACE(sampler + " " + name);
      ++checked;
      expect_anchor_sample(anchors, scene->rpn.anchors.size(0), c.images(), kind.at("rpn_sampled"));
      expect_regions(runs, one_hot, c.data.at("targets"), kind.at("roi_sampled"));
      if (name == "hard") {
        std::vector<Tensor> totals;
        expect_losses(
            in_all([&](const Sampled& run) {
              const auto hard = frcnn::hard_loss(*c.net, run.scene, {truth.boxes, truth.labels, truth.image}, options);
              totals.push_back(hard.total);
              return named(hard);
            }),
            kind);
        expect_gradients(*c.net, totals, kind);
        expect_losses(
            in_all([&](const Sampled& run) {
              const Tensor one = torch::ones_like(truth.weights);
              return named(frcnn::soft_loss(*c.net, run.scene, {truth.boxes, one_hot, one, truth.image}, options));
            }),
            kind);
        continue;
      }
      const Tensor probs = name == "soft_weighted" ? truth.probs : one_hot;
      const auto imitated = in_all([&](const Sampled& run) {
        const auto region =
            frcnn::region_loss(run.out, run.regions, labels.boxes, parts::region_classes(probs, run.regions.target, 0),
                               originals_weights(truth, labels, run.regions));
        return Terms{{"objectness", rpn.objectness},
                     {"rpn_box_reg", rpn.boxes},
                     {"classifier", region.classifier},
                     {"box_reg", region.boxes}};
      });
      expect_losses(imitated, kind);
      std::vector<Tensor> totals;
      for (const Terms& terms : imitated) totals.push_back(sum_of(terms));
      expect_gradients(*c.net, totals, kind);
      if (name == "soft_weighted") {  // boxes of regions are weighted alike
        std::vector<double> ours;
        for (const Sampled& run : runs) {
          const auto terms =
              frcnn::soft_loss(*c.net, run.scene, {truth.boxes, truth.probs, truth.weights, truth.image}, options);
          ours.push_back(named(terms).at("box_reg").item<double>());
        }
        expect_number(ours, kind.at("losses").at("loss_box_reg"), 1e-4, "our own box_reg");
      }
    }
  }
  EXPECT_GT(checked, 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, FrcnnLoss, ::testing::ValuesIn(all_cases()), case_name);

}  // namespace
}  // namespace frcnn_golden
