#include <algorithm>
#include <map>

#include "frcnn/decode.h"
#include "frcnn/loss.h"
#include "parts/suppression.h"
#include "plugins/frcnn/golden_frcnn.h"

namespace frcnn_golden {
namespace {

TEST(FrcnnNames, NamesAndShapesAreTorchvisions) {
  const auto built = detector(file().at("cases").at(0).at("model_kwargs"));
  torch::nn::Module* net = &built->module();
  std::map<std::string, std::vector<std::int64_t>> ours, theirs;
  for (const auto& item : net->named_parameters()) ours[item.key()] = item.value().sizes().vec();
  for (const auto& item : net->named_buffers()) ours[item.key()] = item.value().sizes().vec();
  for (const auto& row : file().at("state_dict")) theirs[row.at(0)] = row.at(1).get<std::vector<std::int64_t>>();
  EXPECT_EQ(theirs.size(), file().at("n_state_dict").get<std::size_t>());
  EXPECT_EQ(ours, theirs);
}

TEST(FrcnnNames, NormalisationAndPublishedLimitsAreTorchvisions) {
  const Tensor mean = golden::numbers(file().at("image_mean_std").at(0)),
               deviation = golden::numbers(file().at("image_mean_std").at(1));
  EXPECT_TRUE(torch::allclose(parts::normalised(torch::ones({3, 1, 1})).flatten(), (1 - mean) / deviation, 1e-6, 1e-6));
  const auto limits = frcnn::Detector::describe().detections;
  EXPECT_EQ(limits.min_score, 0.05);
  EXPECT_EQ(limits.nms_iou, 0.5);
  EXPECT_EQ(limits.max_per_image, 100);
}

TEST(FrcnnNames, WeightRulesGiveTheExampleValues) {
  const auto built = detector(file().at("cases").at(0).at("model_kwargs"));
  torch::nn::Module* net = &built->module();
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
  ASSERT_EQ(input.sizes.size(), sizes.size());
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    EXPECT_EQ(input.sizes[b].height, sizes[b][0].get<std::int64_t>());
    EXPECT_EQ(input.sizes[b].width, sizes[b][1].get<std::int64_t>());
  }
  expect(input.pixels, c.data.at("transformed").at("tensor"), "transformed");
  const auto levels = c.net->body(input.pixels);
  ASSERT_EQ(levels.size(), c.data.at("body").size());
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const std::string name = "layer" + std::to_string(l + 1);
    expect(levels[l], c.data.at("body").at(name), name);
  }
  const auto pyramid = c.net->pyramid(levels);
  ASSERT_EQ(pyramid.size(), c.data.at("fpn").size());
  for (std::size_t l = 0; l < pyramid.size(); ++l) {
    const std::string name = l + 1 == pyramid.size() ? "pool" : std::to_string(l);
    expect(pyramid[l], c.data.at("fpn").at(name), name);
  }
  const auto rpn = c.net->rpn(pyramid);
  ASSERT_EQ(rpn.objectness.size(), c.data.at("rpn_objectness").size());
  for (std::size_t l = 0; l < rpn.objectness.size(); ++l) {
    expect(rpn.objectness[l], c.data.at("rpn_objectness").at(l), "objectness " + std::to_string(l));
    expect(rpn.deltas[l], c.data.at("rpn_bbox_deltas").at(l), "deltas " + std::to_string(l));
  }
  const auto scene = c.net->forward(c.pixels, c.contents);
  const json& anchors = c.data.at("anchors_image0");
  golden::expect_summary(scene->rpn.anchors, anchors, 0, "anchors");
  const Tensor first = golden::boxes(golden::entry(anchors, "first").second);
  EXPECT_TRUE(torch::equal(scene->rpn.anchors.slice(0, 0, first.size(0)), first));
}

INSTANTIATE_TEST_SUITE_P(Golden, FrcnnForward, ::testing::ValuesIn(all_cases()), case_name);

/// Expects the first rows of `ours` (n x 4) to be the given boxes within 0.01 pixels.
void expect_boxes(const Tensor& ours, const json& rows) {
  const Tensor theirs = golden::boxes(rows);
  ASSERT_GE(ours.size(0), theirs.size(0));
  if (theirs.size(0) == 0) return;
  EXPECT_LE((ours.slice(0, 0, theirs.size(0)) - theirs).abs().max().item<double>(), 1e-2);
}

struct Seen {
  Case c;
  std::unique_ptr<frcnn::Scene> scene;
  std::vector<parts::Proposals> proposals;
  Tensor regions, image;
  /// spare: proposals per image beyond those of the case.
  explicit Seen(std::size_t index, std::int64_t spare = 0) : c(index) {
    torch::NoGradGuard no_grad;
    scene = c.net->forward(c.pixels, c.contents);
    auto options = c.proposals("test");
    options.after_suppression += spare;
    proposals = parts::propose(scene->rpn, scene->sizes, options);
    std::vector<Tensor> boxes, images;
    for (std::size_t b = 0; b < proposals.size(); ++b) {
      boxes.push_back(proposals[b].boxes);
      images.push_back(torch::full({boxes[b].size(0)}, static_cast<std::int64_t>(b), torch::kInt64));
    }
    regions = torch::cat(boxes);
    image = torch::cat(images);
  }
};

class FrcnnRegions : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Golden, FrcnnRegions, ::testing::ValuesIn(cases_with_proposals()), case_name);

TEST(FrcnnFile, ProposalsAreLeftOutOfTiesAlone) {
  ASSERT_FALSE(cases_with_proposals().empty());
  for (const json& c : file().at("cases")) {
    const json& proposals = c.at("proposals_eval");
    EXPECT_TRUE(proposals.is_array() || golden::is_tie(proposals));
  }
}

/// Expects rows, one per region of `seen`, to have the summary's samples, where the file's proposals are ties from some
/// place on: the row of a tied one is that of some proposal of the image from that place on.
void expect_tied_rows(const Seen& seen, const Tensor& rows, const json& summary, const std::string& what) {
  SCOPED_TRACE(what);
  struct Places {
    std::int64_t first, end;
  };
  std::vector<Places> candidates;  // of each of the file's rows, among ours
  std::int64_t first = 0;
  for (std::size_t b = 0; b < seen.proposals.size(); ++b) {
    const json& theirs = seen.c.data.at("proposals_eval").at(b);
    const auto stable = theirs.at("stable_prefix_rows").get<std::int64_t>();
    const std::int64_t end = first + seen.proposals[b].boxes.size(0);
    for (std::int64_t r = 0; r < theirs.at("n").get<std::int64_t>(); ++r) {
      candidates.push_back(r < stable ? Places{first + r, first + r + 1} : Places{first + stable, end});
    }
    first = end;
  }
  const Tensor ours = rows.flatten(1).to(torch::kFloat64);
  const auto all = static_cast<std::int64_t>(candidates.size()), count = golden::rows_of(summary.at("samples"));
  ASSERT_EQ(summary.at("shape").at(0).get<std::int64_t>(), all);
  const double tolerance = golden::tolerance_of(summary);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t at = golden::sampled_at(all * ours.size(1), count, k);
    const Places& places = candidates[static_cast<std::size_t>(at / ours.size(1))];
    const Tensor of_candidates = ours.select(1, at % ours.size(1)).slice(0, places.first, places.end);
    const double theirs = summary.at("samples").at(static_cast<std::size_t>(k));
    EXPECT_LE((of_candidates - theirs).abs().min().item<double>(), tolerance) << "sample " << k;
  }
}

TEST_P(FrcnnRegions, ProposalsPooledFeaturesAndHeadsAreTorchvisions) {
  Seen seen(GetParam());
  torch::NoGradGuard no_grad;
  ASSERT_EQ(seen.c.data.at("proposals_eval").size(), seen.c.images());
  for (std::size_t b = 0; b < seen.c.images(); ++b) {
    const json& expected = seen.c.data.at("proposals_eval").at(b);
    EXPECT_EQ(seen.proposals[b].boxes.size(0), expected.at("n").get<std::int64_t>());
    expect_boxes(seen.proposals[b].boxes, expected.at("boxes"));
  }
  const auto matches = [&](const auto& same) {
    const auto pooled = seen.c.net->pool(*seen.scene, seen.regions, seen.image);
    same(pooled.in_order(pooled.features), "roi_pooled");
    same(pooled.in_order(seen.c.net->head(pooled.features)), "box_head_out");
    const auto out = seen.c.net->look(*seen.scene, seen.regions, seen.image);
    same(out.logits, "class_logits");
    same(out.codes, "box_regression");
  };
  if (seen.c.data.at("proposals_order_fully_stable").get<bool>()) {
    matches([&](const Tensor& ours, const char* what) { expect(ours, seen.c.data.at(what), what); });
  } else {
    seen = Seen(GetParam(), 8);  // one of these may have taken the place of a tied one
    matches([&](const Tensor& ours, const char* what) { expect_tied_rows(seen, ours, seen.c.data.at(what), what); });
  }
}

/// boxes: n x 4 in the frame of the image. The rows after the stable ones are ties, and with them how many there are.
void expect_detections(const Tensor& boxes, const Tensor& scores, const Tensor& labels, const json& expected) {
  const auto all = expected.at("n").get<std::int64_t>(), count = expected.at("stable_prefix_rows").get<std::int64_t>();
  ASSERT_EQ(count, golden::rows_of(expected.at("boxes")));
  if (count == all) {
    ASSERT_EQ(boxes.size(0), all);
  }
  ASSERT_GE(boxes.size(0), count);
  if (count == 0) return;
  expect_boxes(boxes, expected.at("boxes"));
  const Tensor wanted = golden::numbers(expected.at("scores"), {count});
  EXPECT_LE((scores.slice(0, 0, count) - wanted).abs().max().item<double>(), 1e-4);
  EXPECT_EQ(golden::integers(labels.slice(0, 0, count)), golden::integers(expected.at("labels")));
}

TEST_P(FrcnnRegions, DetectionsAreTorchvisions) {
  Case c(GetParam());
  torch::NoGradGuard no_grad;
  const auto activations = c.detector->forward(c.input());
  const auto found = c.detector->decode_detections(*activations, frcnn::Detector::describe().detections);
  ASSERT_EQ(c.data.at("detections").size(), c.images());
  for (std::size_t b = 0; b < c.images(); ++b) {
    SCOPED_TRACE("image " + std::to_string(b));
    const Tensor mine = (found.image_index == static_cast<std::int64_t>(b)).nonzero().squeeze(1);
    expect_detections(found.boxes.index_select(0, mine), found.scores.index_select(0, mine),
                      found.labels.index_select(0, mine) + 1, c.data["detections"][b]);  // theirs count from 1
  }
}

/// What the original program shows to its consensus: a box of every class of every proposal, suppressed whatever the
/// class. Ours shows one box per proposal.
struct Shown {
  Tensor boxes, scores, labels, logits;  // frame of the image, best first
};

Shown shown_by_the_original(Seen& seen, std::size_t b, double min_score, double nms_iou, std::int64_t limit) {
  const auto all = frcnn::candidates(*seen.c.net, *seen.scene, seen.c.proposals("test"), min_score);
  const auto mine = [&](const Tensor& t) { return t.slice(0, all.begin[b], all.begin[b + 1]); };
  const Tensor rows =
      parts::suppress_each({{mine(all.boxes), mine(all.scores)}}, nms_iou).at(0).slice(0, 0, limit) + all.begin[b];
  const auto of_rows = [&](const Tensor& t) { return t.index_select(0, rows); };
  const Tensor image = torch::full_like(rows, static_cast<std::int64_t>(b));
  return {frcnn::from_network(of_rows(all.boxes), image, seen.scene->scale), of_rows(all.scores), of_rows(all.labels),
          of_rows(all.logits)};
}

// The limits of the original's get_detection_with_logits, which the file does not repeat.
constexpr double kShownScore = 0.1, kShownIou = 0.5;
constexpr std::int64_t kShown = 50;

TEST_P(FrcnnRegions, DetectionsWithLogitsAreTheOriginals) {
  Seen seen(GetParam());
  torch::NoGradGuard no_grad;
  ASSERT_EQ(seen.c.data.at("get_detection_with_logits").size(), seen.c.images());
  for (std::size_t b = 0; b < seen.c.images(); ++b) {
    const json& expected = seen.c.data.at("get_detection_with_logits").at(b);
    const Shown ours = shown_by_the_original(seen, b, kShownScore, kShownIou, kShown);
    expect_detections(ours.boxes, ours.scores, ours.labels, expected);
    const auto count = golden::rows_of(expected.at("logits"));
    if (count == 0) continue;
    EXPECT_LE((ours.logits.slice(0, 0, count) - golden::numbers(expected.at("logits"), {count, num_classes()}))
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
    for (std::int64_t j = 2; j < probs.size(1); ++j) {
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
TEST_P(FrcnnRegions, OursAreThoseOfTheLikeliestClassOfEachProposal) {
  Seen seen(GetParam());
  torch::NoGradGuard no_grad;
  const auto ours =
      frcnn::sightings(*seen.c.net, *seen.scene, seen.c.proposals("test"), {kShownScore, kShownIou, kShown});
  const Tensor boxes = frcnn::from_network(ours.boxes, ours.image, seen.scene->scale);
  for (std::int64_t b = 0; b < seen.scene->batch(); ++b) {
    const Tensor rows = (ours.image == b).nonzero().squeeze(1);
    const ByHand expected =
        likeliest_by_hand(seen, b, static_cast<float>(kShownScore), static_cast<float>(kShownIou), kShown);
    ASSERT_EQ(rows.size(0), expected.scores.size(0));
    EXPECT_TRUE(torch::equal(ours.boxes.index_select(0, rows), expected.boxes));
    EXPECT_TRUE(torch::equal(ours.scores.index_select(0, rows), expected.scores));
    EXPECT_TRUE(torch::equal(ours.logits.index_select(0, rows), expected.logits));

    const json& theirs = seen.c.data.at("get_detection_with_logits").at(static_cast<std::size_t>(b));
    const Shown all = shown_by_the_original(seen, static_cast<std::size_t>(b), kShownScore, kShownIou, kShown);
    const Tensor is_likeliest = all.labels == all.logits.argmax(1);
    const std::int64_t until = is_likeliest.all().item<bool>()
                                   ? is_likeliest.size(0)
                                   : (~is_likeliest).to(torch::kInt64).argmax().item<std::int64_t>();
    const std::int64_t same = std::min(until, golden::rows_of(theirs.at("boxes")));
    if (same == 0) continue;
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
