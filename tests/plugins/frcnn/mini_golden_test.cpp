// The parts in plugins/two_stage against torchvision's, on the small inputs of the golden file.
#include <bdc/plugin/torchvision_ops.h>

#include "parts/suppression.h"
#include "plugins/frcnn/golden_frcnn.h"

namespace frcnn_golden {
namespace {

using golden::boxes;
using golden::integers;

const json& mini(const char* name) {
  return file().at("mini").at(name);
}

void expect_near(const Tensor& ours, const Tensor& theirs, double tolerance) {
  ASSERT_EQ(ours.sizes(), theirs.sizes());
  const Tensor limit = tolerance * theirs.abs().clamp_min(1);
  EXPECT_TRUE(((ours - theirs).abs() <= limit).all().item<bool>()) << ours << "\n is not\n" << theirs;
}

/// The features that several parts of the file are about.
Tensor feature() {
  const json& data = mini("roi_align").at("feature");
  const golden::ImageRule rule(data.at("rule"));
  const Tensor out = golden::image(rule.rule(), integers(data.at("shape")), rule.name(0));
  const Tensor first = golden::numbers(data.at("first"));
  EXPECT_TRUE(torch::allclose(out.flatten().slice(0, 0, first.size(0)), first, 1e-6, 1e-7));
  return out;
}

TEST(TwoStageGolden, RoiAlignIsTorchvisions) {
  const json& data = mini("roi_align");
  const Tensor rois = golden::numbers(data.at("rois_batchidx_xyxy"));
  for (const json& c : data.at("cases")) {
    const Tensor out = parts::parallel_roi_align(feature(), rois, data.at("spatial_scale"), c.at("output_size"),
                                                 c.at("sampling_ratio"), c.at("aligned"));
    golden::expect_summary(out, c.at("output"), 1e-6, c.at("output_size").dump());
  }
}

TEST(TwoStageGolden, SuppressionIsTorchvisions) {
  const json& data = mini("nms");
  const Tensor box = boxes(data.at("boxes")), score = golden::numbers(data.at("scores"));
  const Tensor label = torch::tensor(integers(data.at("labels")));
  int alone = 0, by_class = 0;
  for (const auto& [key, kept] : data.items()) {  // keep_iou0.5, batched_keep_iou0.5
    const auto at = key.find("keep_iou");
    if (at == std::string::npos) continue;
    const double limit = golden::numbers_in(key).at(0);
    (at == 0 ? alone : by_class) += 1;
    EXPECT_EQ(integers(at == 0 ? parts::suppress_each({{box, score}}, limit)[0]
                               : parts::suppress_in_groups(box, score, label, limit)),
              integers(kept))
        << key;
  }
  EXPECT_TRUE(alone > 0 && by_class > 0);
}

TEST(TwoStageGolden, BoxCodesAreTorchvisions) {
  for (const json& c : mini("box_coder")) {
    parts::BoxCoder coder;
    coder.weights = c.at("weights").get<std::array<double, 4>>();
    EXPECT_NEAR(coder.clamp, c.at("bbox_xform_clip").get<double>(), 1e-7);
    const Tensor regions = boxes(c.at("proposals"));
    expect_near(coder.encode(boxes(c.at("reference")), regions), boxes(golden::entry(c, "encode").second), 1e-5);
    expect_near(coder.decode(golden::numbers(golden::entry(c, "rel_codes").second), regions),
                golden::numbers(c.at("decode")), 1e-5);
  }
}

TEST(TwoStageGolden, AnchorsAreTorchvisions) {
  const json& data = mini("anchor_generator");
  parts::AnchorOptions options;
  options.sizes = data.at("sizes").get<std::vector<std::vector<double>>>();
  options.ratios = data.at("aspect_ratios_h_over_w").get<std::vector<double>>();
  std::vector<ImageSize> grids;
  for (const json& g : data.at("feature_hw")) grids.push_back({g[0], g[1]});
  ASSERT_EQ(data.at("cell_anchors").size(), options.sizes.size());
  for (std::size_t l = 0; l < options.sizes.size(); ++l) {
    EXPECT_TRUE(torch::equal(parts::cell_anchors(options, l), boxes(data.at("cell_anchors")[l])));
  }
  const json& input = data.at("batch_tensor_hw");
  EXPECT_TRUE(torch::equal(parts::grid_anchors(options, grids, parts::strides_of({input[0], input[1]}, grids)),
                           boxes(data.at("anchors"))));
}

TEST(TwoStageGolden, MatchesAreTorchvisions) {
  const json& data = mini("matcher");
  const Tensor targets = boxes(data.at("gt")), all = boxes(data.at("boxes"));
  expect_near(parts::iou_matrix(targets, all), golden::numbers(data.at("iou_gt_x_boxes")), 1e-6);
  int matchers = 0;
  for (const auto& [key, matches] : data.items()) {  // rpn_matcher_0.7_0.3_lowquality
    if (key.find("_matcher_") == std::string::npos) continue;
    ++matchers;
    const auto limits = golden::numbers_in(key);
    const parts::Matcher matcher{limits.at(0), limits.at(1), key.find("lowquality") != std::string::npos};
    EXPECT_EQ(integers(matcher.match(targets, all)), integers(matches)) << key;
  }
  EXPECT_GT(matchers, 0);
}

TEST(TwoStageGolden, PoolingFromThePyramidIsTorchvisions) {
  const json& data = mini("multiscale_roi_align");
  std::vector<Tensor> features{feature()};  // each level is the 2 x 2 average of the one before it
  while (features.size() < data.at("scales").size()) features.push_back(torch::avg_pool2d(features.back(), 2));
  std::vector<std::int64_t> strides, image;
  for (const json& scale : data.at("scales")) strides.push_back(std::llround(1 / scale.get<double>()));
  std::vector<Tensor> all;
  for (std::size_t b = 0; b < data.at("boxes_per_image").size(); ++b) {
    all.push_back(boxes(data.at("boxes_per_image")[b]));
    image.insert(image.end(), static_cast<std::size_t>(all[b].size(0)), static_cast<std::int64_t>(b));
  }
  const parts::RoiPool pool;
  EXPECT_EQ(integers(pool.level_of(torch::cat(all), strides)),
            data.at("levels_chosen").get<std::vector<std::int64_t>>());
  const auto pooled = pool.pool(features, strides, torch::cat(all), torch::tensor(image));
  golden::expect_summary(pooled.in_order(pooled.features), data.at("output"), 1e-6, "pooled");
}

TEST(TwoStageGolden, ClippingAndSmallBoxesAreTorchvisions) {
  const json& data = mini("clip_and_small");
  const Tensor clipped = parts::clip_to_image(boxes(data.at("boxes")), {data.at("clip_hw")[0], data.at("clip_hw")[1]});
  EXPECT_TRUE(torch::equal(clipped, boxes(data.at("clipped"))));
  const auto [key, kept] = golden::entry(data, "keep_min_size");
  EXPECT_EQ(integers(parts::rows_not_smaller(clipped, golden::numbers_in(key).at(0))), integers(kept));
}

}  // namespace
}  // namespace frcnn_golden
