// The parts in plugins/two_stage against torchvision's, on the small inputs of the golden file.
#include <bdc/plugin/torchvision_ops.h>

#include "plugins/frcnn/golden_frcnn.h"
#include "two_stage/suppression.h"

namespace frcnn_golden {
namespace {

const json& mini(const char* name) {
  return file().at("mini").at(name);
}

Tensor boxes(const json& rows) {
  return golden::numbers(rows, {static_cast<std::int64_t>(rows.size()), 4});
}

std::vector<std::int64_t> integers(const Tensor& t) {
  const Tensor flat = t.contiguous();
  return {flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel()};
}

void expect_near(const Tensor& ours, const Tensor& theirs, double tolerance) {
  ASSERT_EQ(ours.sizes(), theirs.sizes());
  const Tensor limit = tolerance * theirs.abs().clamp_min(1);
  EXPECT_TRUE(((ours - theirs).abs() <= limit).all().item<bool>()) << ours << "\n is not\n" << theirs;
}

Tensor feature() {
  return golden::image("hash", {2, 3, 10, 12}, "feat1");
}

TEST(TwoStageGolden, RoiAlignIsTorchvisions) {
  const json& data = mini("roi_align");
  const Tensor rois = golden::numbers(data.at("rois_batchidx_xyxy"), {5, 5});
  for (const json& c : data.at("cases")) {
    const Tensor out = two_stage::parallel_roi_align(feature(), rois, data.at("spatial_scale"), c.at("output_size"),
                                                     c.at("sampling_ratio"), c.at("aligned"));
    golden::expect_summary(out, c.at("output"), 1e-6, c.at("output_size").dump());
  }
}

TEST(TwoStageGolden, SuppressionIsTorchvisions) {
  const json& data = mini("nms");
  const Tensor box = boxes(data.at("boxes")), score = golden::numbers(data.at("scores"), {24});
  const Tensor label = torch::tensor(data.at("labels").get<std::vector<std::int64_t>>());
  for (const char* limit : {"0.3", "0.5", "0.7"}) {
    EXPECT_EQ(integers(two_stage::suppress_each({{box, score}}, std::stod(limit))[0]),
              data.at(std::string("keep_iou") + limit).get<std::vector<std::int64_t>>());
  }
  EXPECT_EQ(integers(two_stage::suppress_in_groups(box, score, label, 0.5)),
            data.at("batched_keep_iou0.5").get<std::vector<std::int64_t>>());
}

TEST(TwoStageGolden, BoxCodesAreTorchvisions) {
  for (const json& c : mini("box_coder")) {
    two_stage::BoxCoder coder;
    coder.weights = c.at("weights").get<std::array<double, 4>>();
    EXPECT_NEAR(coder.clamp, c.at("bbox_xform_clip").get<double>(), 1e-7);
    const Tensor regions = boxes(c.at("proposals"));
    expect_near(coder.encode(boxes(c.at("reference")), regions), boxes(c.at("encode(reference,proposals)")), 1e-5);
    expect_near(coder.decode(golden::numbers(c.at("rel_codes_2classes"), {6, 8}), regions),
                golden::numbers(c.at("decode"), {6, 2, 4}), 1e-5);
  }
}

TEST(TwoStageGolden, AnchorsAreTorchvisions) {
  const json& data = mini("anchor_generator");
  two_stage::AnchorOptions options;
  options.sizes = data.at("sizes").get<std::vector<std::vector<double>>>();
  options.ratios = data.at("aspect_ratios_h_over_w").get<std::vector<double>>();
  std::vector<ImageSize> grids;
  for (const json& g : data.at("feature_hw")) grids.push_back({g[0], g[1]});
  for (std::size_t l = 0; l < 2; ++l) {
    EXPECT_TRUE(torch::equal(two_stage::cell_anchors(options, l), boxes(data.at("cell_anchors")[l])));
  }
  const json& input = data.at("batch_tensor_hw");
  EXPECT_TRUE(torch::equal(two_stage::grid_anchors(options, grids, two_stage::strides_of({input[0], input[1]}, grids)),
                           boxes(data.at("anchors"))));
}

TEST(TwoStageGolden, MatchesAreTorchvisions) {
  const json& data = mini("matcher");
  const Tensor targets = boxes(data.at("gt")), all = boxes(data.at("boxes"));
  expect_near(two_stage::iou_matrix(targets, all), golden::numbers(data.at("iou_gt_x_boxes"), {3, 24}), 1e-6);
  EXPECT_EQ(integers(two_stage::Matcher{0.7, 0.3, true}.match(targets, all)),
            data.at("rpn_matcher_0.7_0.3_lowquality").get<std::vector<std::int64_t>>());
  EXPECT_EQ(integers(two_stage::Matcher{0.5, 0.5, false}.match(targets, all)),
            data.at("roi_matcher_0.5_0.5").get<std::vector<std::int64_t>>());
}

TEST(TwoStageGolden, PoolingFromThePyramidIsTorchvisions) {
  const json& data = mini("multiscale_roi_align");
  std::vector<Tensor> features{feature(), torch::avg_pool2d(feature(), 2)};
  std::vector<std::int64_t> strides, image;
  for (const json& scale : data.at("scales")) strides.push_back(std::llround(1 / scale.get<double>()));
  std::vector<Tensor> all;
  for (std::size_t b = 0; b < 2; ++b) {
    all.push_back(boxes(data.at("boxes_per_image")[b]));
    image.insert(image.end(), static_cast<std::size_t>(all[b].size(0)), static_cast<std::int64_t>(b));
  }
  const two_stage::RoiPool pool;
  EXPECT_EQ(integers(pool.level_of(torch::cat(all), strides)),
            data.at("levels_chosen").get<std::vector<std::int64_t>>());
  const auto pooled = pool.pool(features, strides, torch::cat(all), torch::tensor(image));
  golden::expect_summary(pooled.in_order(pooled.features), data.at("output"), 1e-6, "pooled");
}

TEST(TwoStageGolden, ClippingAndSmallBoxesAreTorchvisions) {
  const json& data = mini("clip_and_small");
  const Tensor clipped =
      two_stage::clip_to_image(boxes(data.at("boxes")), {data.at("clip_hw")[0], data.at("clip_hw")[1]});
  EXPECT_TRUE(torch::equal(clipped, boxes(data.at("clipped"))));
  EXPECT_EQ(integers(two_stage::rows_not_smaller(clipped, 20)),
            data.at("keep_min_size_20").get<std::vector<std::int64_t>>());
}

}  // namespace
}  // namespace frcnn_golden
