// The original suppresses per class and returns objectness * class for every class. Built here from our sightings.
#include <bdc/plugin/torchvision_ops.h>

#include "plugins/yolov7/golden_yolov7.h"
#include "yolov7/decode.h"

namespace yolov7_golden {
namespace {

/// Rows x1, y1, x2, y2, objectness * class ..., best first, of one image.
Tensor suppressed_per_class(const yolov7::Sightings& seen, std::int64_t image, double min_score, double iou,
                            int limit) {
  const Tensor mine = ((seen.image == image) & (seen.scores() > min_score)).nonzero().squeeze(1);
  const Tensor boxes = seen.boxes.index_select(0, mine);
  const Tensor scores = seen.objectness.index_select(0, mine).unsqueeze(1) * seen.classes.index_select(0, mine);
  const auto [best, label] = scores.max(1);
  const Tensor apart = boxes + label.unsqueeze(1).to(torch::kFloat32) * 4096;
  const Tensor kept = vision::ops::nms(apart, best, iou).slice(0, 0, limit);
  return torch::cat({boxes, scores}, 1).index_select(0, kept);
}

class Yolov7Nms : public ::testing::TestWithParam<CaseName> {};

TEST_P(Yolov7Nms, KeepsTheBoxesTheOriginalKeeps) {
  Case c(GetParam());
  torch::NoGradGuard no_grad;
  const auto heads = c.net->forward(c.pixels);
  for (const auto& expected : c.data.at("nms")) {
    if (expected.contains("omitted")) {
      ASSERT_EQ(c.data.at("weights"), "sine") << "only ties of the sine weights are left out";
      continue;
    }
    const double least = expected.at("conf_thres"), iou = expected.at("iou_thres");
    SCOPED_TRACE("threshold " + std::to_string(least));
    const auto seen = sightings(*heads, least);
    EXPECT_EQ((seen.image == 0).sum().item<std::int64_t>(),
              expected.at("n_candidates_above_obj_conf").get<std::int64_t>());
    const auto counts = expected.at("n_kept_per_image").get<std::vector<std::int64_t>>();
    for (std::size_t b = 0; b < counts.size(); ++b) {
      EXPECT_EQ(suppressed_per_class(seen, static_cast<std::int64_t>(b), least, iou, 100).size(0), counts[b]);
    }
    ASSERT_EQ(expected.at("image_index"), 0);
    const Tensor rows = suppressed_per_class(seen, 0, least, iou, 100);
    const auto check = [](double ours, double theirs, std::size_t column) {
      return std::abs(ours - theirs) <= (column < 4 ? 1e-2 : 1e-5);
    };
    const auto& first = expected.at("rows_first");
    ASSERT_GE(rows.size(0), static_cast<std::int64_t>(first.size()));
    for (std::size_t r = 0; r < first.size(); ++r) {
      ASSERT_EQ(static_cast<std::int64_t>(first[r].size()), rows.size(1));
      const Tensor row = rows[static_cast<std::int64_t>(r)].contiguous();
      for (std::size_t k = 0; k < first[r].size(); ++k) {
        EXPECT_TRUE(check(row.data_ptr<float>()[k], first[r][k], k)) << "row " << r << " column " << k;
      }
    }
    expect_summary(rows, expected.at("rows_summary_all"), 1e-2, "all rows");
    const auto& plain = expected.at("non_max_suppression_first40");
    for (std::size_t r = 0; r < plain.size(); ++r) {
      const Tensor row = rows[static_cast<std::int64_t>(r)];
      const auto [best, label] = row.slice(0, 4).max(0);
      for (std::int64_t k = 0; k < 4; ++k)
        EXPECT_NEAR(row[k].item<double>(), plain[r][static_cast<std::size_t>(k)].get<double>(), 1e-2);
      EXPECT_NEAR(best.item<double>(), plain[r][4].get<double>(), 1e-5);
      EXPECT_EQ(label.item<double>(), plain[r][5].get<double>());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Yolov7Nms, ::testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace yolov7_golden
