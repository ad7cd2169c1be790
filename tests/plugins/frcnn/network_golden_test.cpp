#include <algorithm>
#include <map>

#include "frcnn/decode.h"
#include "frcnn/loss.h"
#include "plugins/frcnn/golden_frcnn.h"
#include "two_stage/suppression.h"

namespace frcnn_golden {
namespace {

TEST(FrcnnNames, NamesAndShapesAreTorchvisions) {
  const auto net = network(file().at("cases").at(0).at("model_kwargs"));
  std::map<std::string, std::vector<std::int64_t>> ours, theirs;
  for (const auto& item : net->named_parameters()) ours[item.key()] = item.value().sizes().vec();
  for (const auto& item : net->named_buffers()) ours[item.key()] = item.value().sizes().vec();
  for (const auto& row : file().at("state_dict")) theirs[row.at(0)] = row.at(1).get<std::vector<std::int64_t>>();
  EXPECT_EQ(theirs.size(), file().at("n_state_dict").get<std::size_t>());
  EXPECT_EQ(ours, theirs);
}

TEST(FrcnnNames, WeightRulesGiveTheExampleValues) {
  const auto net = network(file().at("cases").at(0).at("model_kwargs"));
  for (const auto& [rule, examples] : file().at("weights_rule_examples").items()) {
    golden::fill(*net, rule, file());
    std::map<std::string, Tensor> all;
    for (const auto& item : net->named_parameters()) all[item.key()] = item.value();
    for (const auto& item : net->named_buffers()) all[item.key()] = item.value();
    for (const auto& example : examples) {
      for (std::size_t i = 0; i < example.at("index").size(); ++i) {
        const auto at = example["index"][i].get<std::int64_t>();
        EXPECT_NEAR(all.at(example.at("name")).data_ptr<float>()[at], example["value"][i].get<double>(), 1e-7);
      }
    }
  }
}

void expect(const Tensor& ours, const json& summary, const std::string& what) {
  golden::expect_summary(ours, summary, golden::tolerance_of(summary), what);
}

class FrcnnForward : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FrcnnForward, TransformBackbonePyramidAndRpnAreTorchvisions) {
  const Case c(GetParam());
  torch::NoGradGuard no_grad;
  const auto input = c.net->input(c.pixels, c.contents);
  const json& sizes = c.data.at("transformed").at("image_sizes");
  for (std::size_t b = 0; b < 2; ++b) {
    EXPECT_EQ(input.sizes[b].height, sizes[b][0].get<std::int64_t>());
    EXPECT_EQ(input.sizes[b].width, sizes[b][1].get<std::int64_t>());
  }
  expect(input.pixels, c.data.at("transformed").at("tensor"), "transformed");
  const auto levels = c.net->body(input.pixels);
  for (std::size_t l = 0; l < 4; ++l) {
    const std::string name = "layer" + std::to_string(l + 1);
    expect(levels[l], c.data.at("body").at(name), name);
  }
  const auto pyramid = c.net->pyramid(levels);
  const char* names[] = {"0", "1", "2", "3", "pool"};
  for (std::size_t l = 0; l < 5; ++l) expect(pyramid[l], c.data.at("fpn").at(names[l]), names[l]);
  const auto rpn = c.net->rpn(pyramid);
  for (std::size_t l = 0; l < 5; ++l) {
    expect(rpn.objectness[l], c.data.at("rpn_objectness").at(l), "objectness " + std::to_string(l));
    expect(rpn.deltas[l], c.data.at("rpn_bbox_deltas").at(l), "deltas " + std::to_string(l));
  }
  const auto scene = c.net->forward(c.pixels, c.contents);
  const json& anchors = c.data.at("anchors_image0");
  golden::expect_summary(scene->rpn.anchors, anchors, 0, "anchors");
  EXPECT_TRUE(torch::equal(scene->rpn.anchors.slice(0, 0, 6), golden::numbers(anchors.at("first6"), {6, 4})));
}

INSTANTIATE_TEST_SUITE_P(Golden, FrcnnForward, ::testing::Values(0, 1), case_name);

/// Expects the first rows of `ours` (n x 4) to be the given boxes within 0.01 pixels.
void expect_boxes(const Tensor& ours, const json& rows) {
  ASSERT_GE(ours.size(0), static_cast<std::int64_t>(rows.size()));
  const Tensor theirs = golden::numbers(rows, {static_cast<std::int64_t>(rows.size()), 4});
  EXPECT_LE((ours.slice(0, 0, theirs.size(0)) - theirs).abs().max().item<double>(), 1e-2);
}

struct Seen {
  Case c{1};  // the sine weights give ties here
  std::unique_ptr<frcnn::Scene> scene;
  std::vector<two_stage::Proposals> proposals;
  Tensor regions, image;
  Seen() {
    torch::NoGradGuard no_grad;
    scene = c.net->forward(c.pixels, c.contents);
    proposals = two_stage::propose(scene->rpn, scene->sizes, c.proposals("test"));
    std::vector<Tensor> boxes, images;
    for (std::size_t b = 0; b < 2; ++b) {
      boxes.push_back(proposals[b].boxes);
      images.push_back(torch::full({boxes[b].size(0)}, static_cast<std::int64_t>(b), torch::kInt64));
    }
    regions = torch::cat(boxes);
    image = torch::cat(images);
  }
};

TEST(FrcnnRegions, ProposalsPooledFeaturesAndHeadsAreTorchvisions) {
  Seen seen;
  torch::NoGradGuard no_grad;
  ASSERT_TRUE(seen.c.data.at("proposals_order_fully_stable").get<bool>());
  for (std::size_t b = 0; b < 2; ++b) {
    const json& expected = seen.c.data.at("proposals_eval").at(b);
    EXPECT_EQ(seen.proposals[b].boxes.size(0), expected.at("n").get<std::int64_t>());
    expect_boxes(seen.proposals[b].boxes, expected.at("boxes"));
  }
  const auto pooled = seen.c.net->pool(*seen.scene, seen.regions, seen.image);
  expect(pooled.in_order(pooled.features), seen.c.data.at("roi_pooled"), "pooled");
  expect(pooled.in_order(seen.c.net->head(pooled.features)), seen.c.data.at("box_head_out"), "box head");
  const auto out = seen.c.net->look(*seen.scene, seen.regions, seen.image);
  expect(out.logits, seen.c.data.at("class_logits"), "class logits");
  expect(out.codes, seen.c.data.at("box_regression"), "box codes");
}

/// A detection of every class of every proposal, as torchvision and the original make them from our parts. Ours makes
/// one per proposal, of its likeliest class.
struct PerClass {
  Tensor boxes, scores, labels, logits;  // in the image's own frame, best first; labels 0..19
};

PerClass per_class(Seen& seen, std::int64_t b, double min_score, bool inside_classes, std::int64_t limit) {
  const auto out = seen.c.net->look(*seen.scene, seen.regions, seen.image);
  const Tensor mine = (seen.image == b).nonzero().squeeze(1);
  const Tensor all = frcnn::region_coder().decode(out.codes.index_select(0, mine), seen.regions.index_select(0, mine));
  const Tensor boxes =
      two_stage::clip_to_image(all, seen.scene->sizes[static_cast<std::size_t>(b)]).slice(1, 1).reshape({-1, 4});
  const Tensor scores = out.logits.index_select(0, mine).softmax(1).slice(1, 1).flatten();
  const Tensor labels = torch::arange(20, torch::kInt64).repeat({mine.size(0)});
  Tensor rows = (scores > min_score).nonzero().squeeze(1);
  rows = rows.index_select(0, two_stage::rows_not_smaller(boxes.index_select(0, rows), 1e-2));
  const auto of_rows = [&](const Tensor& t) { return t.index_select(0, rows); };
  const Tensor group = inside_classes ? of_rows(labels) : torch::zeros_like(rows);
  const Tensor kept = two_stage::suppress_in_groups(of_rows(boxes), of_rows(scores), group, 0.5);
  rows = rows.index_select(0, kept.slice(0, 0, limit));
  const Tensor image = torch::full({rows.size(0)}, b, torch::kInt64);
  return {frcnn::from_network(of_rows(boxes), image, seen.scene->scale), of_rows(scores), of_rows(labels),
          out.logits.index_select(0, mine).slice(1, 1).index_select(0, torch::floor_divide(rows, 20))};
}

void expect_detections(const PerClass& ours, const json& expected, std::int64_t first_label) {
  ASSERT_EQ(ours.boxes.size(0), expected.at("n").get<std::int64_t>());
  const auto count = expected.at("stable_prefix_rows").get<std::int64_t>();
  ASSERT_EQ(count, static_cast<std::int64_t>(expected.at("boxes").size()));
  expect_boxes(ours.boxes, expected.at("boxes"));
  EXPECT_LE((ours.scores - golden::numbers(expected.at("scores"), {count})).abs().max().item<double>(), 1e-4);
  EXPECT_TRUE(
      torch::equal(ours.labels + first_label, torch::tensor(expected.at("labels").get<std::vector<std::int64_t>>())));
}

TEST(FrcnnDetections, DetectionsPerClassAreTorchvisions) {
  Seen seen;
  torch::NoGradGuard no_grad;
  for (std::size_t b = 0; b < 2; ++b) {
    expect_detections(per_class(seen, static_cast<std::int64_t>(b), 0.05, true, 100),
                      seen.c.data.at("detections").at(b), 1);
  }
}

TEST(FrcnnDetections, DetectionsWithLogitsAreTheOriginals) {
  Seen seen;
  torch::NoGradGuard no_grad;
  for (std::size_t b = 0; b < 2; ++b) {
    const json& expected = seen.c.data.at("get_detection_with_logits").at(b);
    const PerClass ours = per_class(seen, static_cast<std::int64_t>(b), 0.1, false, 50);
    expect_detections(ours, expected, 0);
    const auto count = static_cast<std::int64_t>(expected.at("logits").size());
    ASSERT_GT(count, 0);
    EXPECT_LE((ours.logits.slice(0, 0, count) - golden::numbers(expected.at("logits"), {count, 20}))
                  .abs()
                  .max()
                  .item<double>(),
              20 * seen.c.data.at("class_logits").at("max_abs_diff_f64").get<double>());
  }
}

/// What sightings should give for image b, by plain loops over the second stage's outputs (which the test above holds
/// against torchvision): the box of each proposal's likeliest class, best first, without those that overlap a better
/// one.
struct ByHand {
  Tensor boxes, scores, logits;  // network's frame
};

ByHand likeliest_by_hand(Seen& seen, std::int64_t b, float min_score, float limit, std::size_t most) {
  const auto out = seen.c.net->look(*seen.scene, seen.regions, seen.image);
  const Tensor every = frcnn::region_coder().decode(out.codes, seen.regions), probs = out.logits.softmax(1);
  const ImageSize size = seen.scene->sizes[static_cast<std::size_t>(b)];
  struct Found {
    float x1, y1, x2, y2, score;
    std::int64_t row;
    [[nodiscard]] float area() const { return (x2 - x1) * (y2 - y1); }
    [[nodiscard]] float iou(const Found& o) const {
      const float w = std::min(x2, o.x2) - std::max(x1, o.x1), h = std::min(y2, o.y2) - std::max(y1, o.y1);
      return w <= 0 || h <= 0 ? 0 : w * h / (area() + o.area() - w * h);
    }
  };
  std::vector<Found> found;
  for (std::int64_t n = 0; n < seen.regions.size(0); ++n) {
    if (seen.image[n].item<std::int64_t>() != b) continue;
    std::int64_t label = 1;
    for (std::int64_t j = 2; j <= 20; ++j) {
      if (probs[n][j].item<float>() > probs[n][label].item<float>()) label = j;
    }
    const float score = probs[n][label].item<float>();
    const auto corner = [&](std::int64_t i, std::int64_t edge) {
      return std::clamp(every[n][label][i].item<float>(), 0.0F, static_cast<float>(edge));
    };
    const Found f{
        corner(0, size.width), corner(1, size.height), corner(2, size.width), corner(3, size.height), score, n};
    if (score > min_score && f.x2 - f.x1 >= 0.01F && f.y2 - f.y1 >= 0.01F) found.push_back(f);
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& o) { return a.score > o.score; });
  std::vector<Found> kept;
  for (const Found& f : found) {
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Found& k) { return k.iou(f) > limit; });
    if (!covered && kept.size() < most) kept.push_back(f);
  }
  std::vector<float> boxes, scores;
  std::vector<std::int64_t> rows;
  for (const Found& f : kept) {
    boxes.insert(boxes.end(), {f.x1, f.y1, f.x2, f.y2});
    scores.push_back(f.score);
    rows.push_back(f.row);
  }
  return {torch::tensor(boxes).view({-1, 4}), torch::tensor(scores),
          out.logits.slice(1, 1).index_select(0, torch::tensor(rows))};
}

/// The original makes a detection of every class of a proposal, so its later rows are others than ours: a less likely
/// class of one proposal takes a place and suppresses neighbours. All of ours are held against plain loops, the rows up
/// to the first such class against the original.
TEST(FrcnnDetections, OursAreThoseOfTheLikeliestClassOfEachProposal) {
  Seen seen;
  torch::NoGradGuard no_grad;
  const auto ours = frcnn::sightings(*seen.c.net, *seen.scene, seen.c.proposals("test"), {0.1, 0.5, 50});
  const Tensor boxes = frcnn::from_network(ours.boxes, ours.image, seen.scene->scale);
  for (std::int64_t b = 0; b < 2; ++b) {
    const Tensor rows = (ours.image == b).nonzero().squeeze(1);
    const ByHand expected = likeliest_by_hand(seen, b, 0.1F, 0.5F, 50);
    ASSERT_EQ(rows.size(0), expected.scores.size(0));
    EXPECT_TRUE(torch::equal(ours.boxes.index_select(0, rows), expected.boxes));
    EXPECT_TRUE(torch::equal(ours.scores.index_select(0, rows), expected.scores));
    EXPECT_TRUE(torch::equal(ours.logits.index_select(0, rows), expected.logits));

    const json& theirs = seen.c.data.at("get_detection_with_logits").at(static_cast<std::size_t>(b));
    const PerClass all = per_class(seen, b, 0.1, false, 50);
    const Tensor is_likeliest = all.labels == all.logits.argmax(1);
    const std::int64_t same =
        is_likeliest.all().item<bool>() ? 50 : (~is_likeliest).to(torch::kInt64).argmax().item<std::int64_t>();
    ASSERT_GE(same, 10);
    const auto first = [&](const char* key) {
      return json(std::vector<json>(theirs.at(key).begin(), theirs.at(key).begin() + same));
    };
    const Tensor prefix = rows.slice(0, 0, same);
    expect_boxes(boxes.index_select(0, prefix), first("boxes"));
    EXPECT_LE(
        (ours.scores.index_select(0, prefix) - golden::numbers(first("scores"), {same})).abs().max().item<double>(),
        1e-4);
    EXPECT_TRUE(torch::equal(ours.logits.index_select(0, prefix).argmax(1),
                             torch::tensor(first("labels").get<std::vector<std::int64_t>>())));
  }
}

}  // namespace
}  // namespace frcnn_golden
