// The file's detections are those of the original's non_max_suppression with one label per box, and of the variant that
// keeps the scores of all classes (nms_with_logits); both are held against decode for detections.
#include "plugins/yolov7/golden_yolov7.h"
#include "yolov7/decode.h"

namespace yolov7_golden {
namespace {

/// Most boxes that nms_with_logits keeps, which the file does not repeat.
constexpr std::int64_t kMost = 100;

/// Rows x1, y1, x2, y2, objectness * class ... of one image, best first.
Tensor with_all_classes(const yolov7::Found& found, std::int64_t image) {
  const Tensor mine = (found.seen.image == image).nonzero().squeeze(1);
  const Tensor values = found.seen.objectness.unsqueeze(1) * found.seen.classes;
  return torch::cat({found.seen.boxes, values}, 1).index_select(0, mine);
}

/// The first `most` rows of theirs.
void expect_rows(const Tensor& ours, const json& theirs, std::int64_t most) {
  const std::int64_t rows = std::min(most, golden::rows_of(theirs));
  ASSERT_GE(ours.size(0), rows);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    ASSERT_EQ(golden::rows_of(theirs[r]), ours.size(1));
    const Tensor row = ours[static_cast<std::int64_t>(r)].contiguous();
    for (std::size_t k = 0; k < theirs[r].size(); ++k) {
      EXPECT_NEAR(row.data_ptr<float>()[k], theirs[r][k].get<double>(), k < 4 ? 1e-2 : 1e-5)
          << "row " << r << " column " << k;
    }
  }
}

class Yolov7Nms : public ::testing::TestWithParam<CaseName> {};

TEST_P(Yolov7Nms, DetectionsWithOneLabelPerBoxAreTheOriginals) {
  Case c(GetParam());
  torch::NoGradGuard no_grad;
  const auto detector = yolov7_golden::detector(c.golden, "best");
  fill(detector->module(), c.data.at("weights"), c.golden);
  const auto activations = detector->forward({c.pixels, {}});
  const auto& heads = static_cast<const yolov7::Heads&>(*activations);
  for (const auto& expected : c.data.at("nms")) {
    if (golden::is_tie(expected)) continue;
    const double least = expected.at("conf_thres"), iou = expected.at("iou_thres");
    const auto image = expected.at("image_index").get<std::int64_t>();
    SCOPED_TRACE("threshold " + std::to_string(least));
    EXPECT_EQ((sightings(heads, least).image == image).sum().item<std::int64_t>(),
              expected.at("n_candidates_above_obj_conf").get<std::int64_t>());
    const auto found = detector->decode_detections(*activations, {least, iou, kMost});
    const auto counts = golden::integers(expected.at("n_kept_per_image"));
    ASSERT_EQ(golden::rows_of(expected.at("n_kept_per_image")), heads.batch);
    for (std::size_t b = 0; b < counts.size(); ++b) {
      if (!expected.at("float64_run_agrees").at(b).get<bool>()) continue;  // a tie
      EXPECT_EQ((found.image_index == static_cast<std::int64_t>(b)).sum().item<std::int64_t>(), counts[b]) << b;
    }
    const Tensor mine = (found.image_index == image).nonzero().squeeze(1);
    const Tensor table = torch::cat({found.boxes, found.scores.unsqueeze(1), found.labels.unsqueeze(1)}, 1);
    const auto all = counts.at(static_cast<std::size_t>(image));
    const std::int64_t stable = expected.value("stable_prefix_rows", all);  // those after them are ties
    expect_rows(table.index_select(0, mine), golden::entry(expected, "non_max_suppression_first").second, stable);

    const auto full = yolov7::found(heads, {least, iou, kMost}, yolov7::LabelsPerBox::best);
    expect_rows(with_all_classes(full, image), expected.at("rows_first"), stable);
    if (stable < all) continue;
    expect_summary(with_all_classes(full, image), expected.at("rows_summary_all"), 1e-2, "all rows");
  }
}

/// The published evaluation, in plain loops: test.py calls non_max_suppression with multi_label, confidence 0.001 and
/// IoU 0.65; at most 300 are kept.
TEST_P(Yolov7Nms, DetectionsWithEveryLabelAreThoseOfThePublishedLoop) {
  Case c(GetParam());
  const json& nms = c.data.at("nms");
  if (std::all_of(nms.begin(), nms.end(), golden::is_tie)) return;
  torch::NoGradGuard no_grad;
  const auto detector = yolov7_golden::detector(c.golden, "every");
  fill(detector->module(), c.data.at("weights"), c.golden);
  const auto activations = detector->forward({c.pixels, {}});
  const auto limits = yolov7::Detector::describe().detections;
  EXPECT_EQ(limits.min_score, 0.001);
  EXPECT_EQ(limits.nms_iou, 0.65);
  EXPECT_EQ(limits.max_per_image, 300);
  const auto found = detector->decode_detections(*activations, limits);
  const auto all = sightings(static_cast<const yolov7::Heads&>(*activations), limits.min_score);
  struct One {
    std::array<float, 4> box;
    float score;
    std::int64_t label;
    [[nodiscard]] float area() const { return (box[2] - box[0]) * (box[3] - box[1]); }
    [[nodiscard]] float iou(const One& o) const {
      const float w = std::min(box[2], o.box[2]) - std::max(box[0], o.box[0]),
                  h = std::min(box[3], o.box[3]) - std::max(box[1], o.box[1]);
      return w <= 0 || h <= 0 ? 0 : w * h / (area() + o.area() - w * h);
    }
  };
  const Tensor values = (all.objectness.unsqueeze(1) * all.classes).contiguous(), boxes = all.boxes.contiguous();
  const auto value = values.accessor<float, 2>(), corner = boxes.accessor<float, 2>();
  for (std::int64_t b = 0; b < c.pixels.size(0); ++b) {
    std::vector<One> candidates;
    for (std::int64_t n = 0; n < values.size(0); ++n) {
      if (all.image[n].item<std::int64_t>() != b) continue;
      for (std::int64_t j = 0; j < values.size(1); ++j) {
        if (value[n][j] <= static_cast<float>(limits.min_score)) continue;
        candidates.push_back({{corner[n][0], corner[n][1], corner[n][2], corner[n][3]}, value[n][j], j});
      }
    }
    const auto better = [](const One& x, const One& y) { return x.score > y.score; };
    std::stable_sort(candidates.begin(), candidates.end(), better);
    if (candidates.size() > static_cast<std::size_t>(yolov7::kMostDetections))
      candidates.resize(yolov7::kMostDetections);
    std::vector<One> kept;
    for (const One& one : candidates) {
      if (kept.size() == static_cast<std::size_t>(limits.max_per_image)) break;
      const bool covered = std::any_of(kept.begin(), kept.end(), [&](const One& k) {
        return k.label == one.label && k.iou(one) > static_cast<float>(limits.nms_iou);
      });
      if (!covered) kept.push_back(one);
    }
    const Tensor mine = (found.image_index == b).nonzero().squeeze(1);
    ASSERT_EQ(mine.size(0), static_cast<std::int64_t>(kept.size()));
    std::vector<std::array<float, 6>> ours, loop;  // equal scores are a tie, in any order
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const Tensor row = mine[static_cast<std::int64_t>(i)];
      const Tensor box = found.boxes.index_select(0, row.view({1})).contiguous();
      const float* at = box.data_ptr<float>();
      ours.push_back({-found.scores.index({row}).item<float>(),
                      static_cast<float>(found.labels.index({row}).item<std::int64_t>()), at[0], at[1], at[2], at[3]});
      const auto& k = kept[i];
      loop.push_back({-k.score, static_cast<float>(k.label), k.box[0], k.box[1], k.box[2], k.box[3]});
    }
    std::sort(ours.begin(), ours.end());
    std::sort(loop.begin(), loop.end());
    EXPECT_EQ(ours, loop);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Yolov7Nms, ::testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace yolov7_golden
