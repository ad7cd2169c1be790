// Batches, frames and the loader.

#include "data/frames.h"

#include <gtest/gtest.h>
#include <torch/nn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "data/batch.h"
#include "data/crowd_shapes.h"
#include "data/loader.h"

namespace bdc::host {
namespace {

AugmentSettings strong() {
  AugmentSettings s;
  s.rotate = 15;
  s.translate = 0.2;
  s.zoom = 0.4;
  s.shear = 5;
  s.flip_x = s.flip_y = 0.5;
  s.hue = s.saturation = s.value = 0.3;
  return s;
}

CrowdShapesSettings some_crowd() {
  CrowdShapesSettings s;
  s.experts = 2;
  s.random = 1;
  s.share = 0.7;
  return s;
}

std::vector<std::vector<std::int64_t>> lists(std::int64_t images, std::int64_t batch) {
  std::vector<std::vector<std::int64_t>> out;
  for (std::int64_t i = 0; i < images; ++i) {
    if (i % batch == 0) out.emplace_back();
    out.back().push_back((i * 7) % images);
  }
  return out;
}

bool same(const Batch& a, const Batch& b) {
  bool ok = a.number == b.number && a.size() == b.size() && torch::equal(a.images.pixels, b.images.pixels) &&
            torch::equal(a.targets.boxes, b.targets.boxes) &&
            torch::equal(a.targets.image_index, b.targets.image_index) && torch::equal(a.crowd.boxes, b.crowd.boxes) &&
            torch::equal(a.crowd.assignments, b.crowd.assignments);
  for (std::size_t i = 0; ok && i < a.images.meta.size(); ++i) {
    ok = a.images.meta[i].index == b.images.meta[i].index && a.images.meta[i].to_input.m == b.images.meta[i].to_input.m;
  }
  return ok;
}

/// Shapes of which some throw.
class FaultyData : public Dataset {
 public:
  explicit FaultyData(std::vector<std::int64_t> broken, std::int64_t fatal = -1)
      : inner_({40, 3, 32, 2, 1}, some_crowd()), broken_(std::move(broken)), fatal_(fatal) {}
  [[nodiscard]] const CrowdData& labels() const override { return inner_.labels(); }
  [[nodiscard]] cv::Mat image(std::int64_t index) const override {
    if (index == fatal_) throw DataError("image " + std::to_string(index));
    for (const auto b : broken_) {
      if (index == b) throw BrokenImage("broken");
    }
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    ++loaded;
    return inner_.image(index);
  }
  std::chrono::milliseconds delay{0};
  mutable std::atomic<int> loaded{0};

 private:
  CrowdShapesData inner_;
  std::vector<std::int64_t> broken_;
  std::int64_t fatal_;
};

TEST(MakeBatch, TargetsAreValidWhateverTheAugmentation) {
  const CrowdShapesData data({60, 3, 64, 3, 1}, some_crowd());
  const ShapesData truth({60, 3, 64, 3, 1});
  std::int64_t targets = 0;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    for (const auto& list : lists(60, 12)) {
      const Batch batch = make_batch(data, list, 64, {strong(), 1, epoch, 1});
      EXPECT_NO_THROW(batch.targets.validate(batch.size(), 3));
      EXPECT_TRUE((batch.targets.boxes >= 0).all().item<bool>() && (batch.targets.boxes <= 64).all().item<bool>());
      targets += make_batch(truth, list, 64, {strong(), 1, epoch, 1}).targets.size();
      EXPECT_TRUE(torch::equal(batch.crowd.boxes, make_batch(data, list, 64).crowd.boxes)) << "the crowd's frame moved";
    }
  }
  EXPECT_GT(targets, static_cast<std::int64_t>(data.labels().truth.size()) * 5 / 2);
}

TEST(MakeBatch, EpochsDifferAndThreadsDoNot) {
  const CrowdShapesData data({8, 3, 64, 3, 1}, some_crowd());
  const std::vector<std::int64_t> all{0, 1, 2, 3, 4, 5, 6, 7};
  const Batch one = make_batch(data, all, 64, {strong(), 1, 3, 1});
  EXPECT_TRUE(same(one, make_batch(data, all, 64, {strong(), 1, 3, 4})));
  EXPECT_FALSE(same(one, make_batch(data, all, 64, {strong(), 1, 4, 1})));
  EXPECT_FALSE(same(one, make_batch(data, all, 64, {strong(), 2, 3, 1})));
  // The place in the batch does not matter.
  const Batch alone = make_batch(data, {5}, 64, {strong(), 1, 3, 1});
  EXPECT_TRUE(torch::equal(alone.images.pixels[0], one.images.pixels[5]));
}

TEST(MakeBatch, WithACrowdTargetsAreItsBoxesAndNeverTheTruth) {
  CrowdShapesSettings nobody_draws;
  nobody_draws.experts = 3;
  nobody_draws.expert_numbers = {0, 0, 1, 0};
  const CrowdShapesData blank({4, 3, 64, 3, 1}, nobody_draws), drawn({4, 3, 64, 3, 1}, some_crowd());
  EXPECT_FALSE(blank.labels().truth.empty());
  EXPECT_EQ(make_batch(blank, {0, 1, 2, 3}, 64).targets.size(), 0);
  const Batch batch = make_batch(drawn, {0, 1, 2, 3}, 64);
  EXPECT_TRUE(torch::equal(batch.targets.boxes, batch.crowd.boxes.to(torch::kFloat32)));
  EXPECT_TRUE(torch::equal(batch.targets.class_probs.argmax(1), batch.crowd.labels));
}

/// White squares on black that fill their boxes: what is bright in a mosaic is inside a target, and targets are bright.
class WhiteBoxes : public Dataset {
 public:
  WhiteBoxes() {
    labels_.classes.push_back({{"0", true}, "box"});
    for (std::int32_t i = 0; i < 12; ++i) {
      labels_.images.push_back({{std::to_string(i), true}, "", 90, 60});
      labels_.truth.push_back({{30.0 + i, 20, 60.0 + i, 44}, i, 0, false, 0});
    }
    labels_.has_truth = true;
    labels_.finalize();
  }
  [[nodiscard]] const CrowdData& labels() const override { return labels_; }
  [[nodiscard]] cv::Mat image(std::int64_t index) const override {
    if (index == 11) throw BrokenImage("broken");
    cv::Mat out(60, 90, CV_8UC3, cv::Scalar::all(0));
    out(cv::Rect(30 + static_cast<int>(index), 20, 30, 24)) = cv::Scalar::all(255);
    return out;
  }

 private:
  CrowdData labels_;
};

TEST(MakeBatch, AMosaicPutsPixelsAndTargetsOfFourImagesInTheSamePlaces) {
  const WhiteBoxes data;
  AugmentSettings settings;
  settings.mosaic = 1;
  settings.flip_x = settings.flip_y = 0.5;
  settings.zoom = 0.2;
  std::int64_t targets = 0;
  for (std::int64_t index = 0; index < 11; ++index) {
    const Batch batch = make_batch(data, {index}, 96, {settings, 1, 0, 1});
    targets += batch.targets.size();
    const auto bright = batch.images.pixels[0][0] > 0.75;
    auto inside = torch::zeros({96, 96}, torch::kBool);
    for (std::int64_t n = 0; n < batch.targets.size(); ++n) {
      const auto edge = [&](int c) { return batch.targets.boxes[n][c].item<double>(); };
      const auto part = [&](torch::Tensor t, double grow) {
        const auto at = [&](double v) { return static_cast<std::int64_t>(std::clamp(std::round(v), 0.0, 96.0)); };
        return t.slice(0, at(edge(1) - grow), at(edge(3) + grow)).slice(1, at(edge(0) - grow), at(edge(2) + grow));
      };
      part(inside, 1).fill_(true);
      EXPECT_TRUE(part(bright, -1.5).all().item<bool>()) << index;
    }
    EXPECT_LT((bright & ~inside).sum().item<std::int64_t>(), 60) << index;  // slivers that are too small for a target
  }
  EXPECT_GT(targets, 25);
  EXPECT_EQ(make_batch(data, {11}, 96, {settings, 1, 0, 1}).size(), 0);
  const CrowdShapesData crowd({4, 3, 64, 3, 1}, some_crowd());
  const Batch batch = make_batch(crowd, {0}, 64, {settings, 1, 0, 1});
  const auto own = make_batch(crowd, {0}, 64);
  EXPECT_GT(batch.targets.size(), own.targets.size()) << "those of all tiles";
  EXPECT_TRUE(torch::equal(batch.crowd.boxes, own.crowd.boxes)) << "those of the image asked for";
}

TEST(MakeBatch, BrokenImagesAreLeftOut) {
  const FaultyData data({1, 3});
  const Batch batch = make_batch(data, {0, 1, 2, 3, 4}, 32);
  ASSERT_EQ(batch.size(), 3);
  EXPECT_EQ(batch.images.pixels.size(0), 3);
  EXPECT_EQ(batch.images.meta[1].index, 2);
  EXPECT_TRUE(torch::equal(batch.images.pixels, make_batch(data, {0, 2, 4}, 32).images.pixels));
  EXPECT_TRUE(torch::equal(batch.targets.image_index, make_batch(data, {0, 2, 4}, 32).targets.image_index));
  const Batch none = make_batch(data, {1, 3}, 32);
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none.targets.size(), 0);
}

/// A box that lies left of an object in the original frame: right of it in the flipped input, left again on the way
/// back.
TEST(Frames, ALeftwardBoxIsRightwardInAFlippedInputAndLeftwardAgainAfterTheWayBack) {
  const ShapesData data({4, 3, 64, 1, 1});
  AugmentSettings flip;
  flip.flip_x = 1;
  const Batch batch = make_batch(data, {0}, 96, {flip, 1, 0, 1});
  const Box object{20, 20, 40, 40}, leftward{16, 20, 36, 40};
  Targets targets;
  targets.num_classes = 3;
  targets.box = {object, leftward};
  targets.class_probs = {1, 0, 0, 0.2, 0.5, 0.3};
  targets.weight = {1, 0.25};
  targets.begin = {0, 2};
  const auto mapped = map_targets(targets, batch.images);
  ASSERT_EQ(mapped.size(), 2);
  EXPECT_GT(mapped.boxes[1][0].item<float>(), mapped.boxes[0][0].item<float>());  // mirrored, so rightward
  EXPECT_EQ(mapped.boxes[0][0].item<float>(), 96 - 1.5f * 40);
  EXPECT_EQ(mapped.weights[1].item<float>(), 0.25f);
  EXPECT_EQ(mapped.class_probs[1][2].item<float>(), 0.3f);
  const plugin::Predictions predictions{mapped.boxes, torch::tensor({0.9f, 0.8f}), mapped.class_probs,
                                        mapped.image_index};
  const Predictions back = unmap_predictions(predictions, batch.images);
  ASSERT_EQ(back.box.size(), 2u);
  EXPECT_LT(back.box[1].x1, back.box[0].x1);
  EXPECT_NEAR(back.box[0].x1, object.x1, 1e-5);
  EXPECT_NEAR(back.box[1].x1, leftward.x1, 1e-5);
  EXPECT_NEAR(back.score[0], 0.9, 1e-6);
  EXPECT_EQ(back.begin, (std::vector<std::size_t>{0, 2}));
}

TEST(Frames, BoxesInsideTheInputComeBackFromAnyAugmentation) {
  const ShapesData data({30, 3, 64, 3, 1});
  std::size_t compared = 0;
  for (std::int64_t i = 0; i < 30; ++i) {
    const Batch batch = make_batch(data, {i}, 96, {strong(), 1, 0, 1});
    const auto& labels = data.labels();
    Targets targets;
    targets.num_classes = 1;
    for (auto n = labels.truth_begin[static_cast<std::size_t>(i)];
         n < labels.truth_begin[static_cast<std::size_t>(i) + 1]; ++n) {
      const Box box = labels.truth[n].box;
      const auto corners = batch.images.meta[0].to_input.apply_to_boxes(
          torch::tensor({box.x1, box.y1, box.x2, box.y2}, torch::kFloat64).reshape({1, 4}));
      if (corners.min().item<double>() < 0 || corners.max().item<double>() > 96) continue;  // would be clipped
      targets.box.push_back(box);
    }
    targets.class_probs.assign(targets.box.size(), 1);
    targets.weight.assign(targets.box.size(), 1);
    targets.begin = {0, targets.box.size()};
    const auto mapped = map_targets(targets, batch.images);
    ASSERT_EQ(mapped.size(), static_cast<std::int64_t>(targets.box.size()));
    const Predictions back =
        unmap_predictions({mapped.boxes, mapped.weights, mapped.class_probs, mapped.image_index}, batch.images);
    for (std::size_t n = 0; n < back.box.size(); ++n, ++compared) {
      EXPECT_GT(iou(back.box[n], targets.box[n]), 0.9999);
    }
  }
  EXPECT_GT(compared, 20u);
}

TEST(Frames, TheViewIsThePartOfTheImageThatTheInputShows) {
  // Flipped, twice as large, shifted: x' = 640 - 2 x + 40, y' = 2 y - 60, in an input of 640 x 320.
  const Frame frame{0, 0, {-2, 0, 680, 0, 2, -60}, {0, 0, 640, 320}};
  const bdc::Box view = view_of(frame);
  EXPECT_DOUBLE_EQ(view.x1, 20);
  EXPECT_DOUBLE_EQ(view.x2, 340);
  EXPECT_DOUBLE_EQ(view.y1, 30);
  EXPECT_DOUBLE_EQ(view.y2, 190);
}

TEST(Frames, RowsThatDoNotFitTheBatchAreRefused) {
  const ShapesData data({4, 3, 64, 1, 1});
  const Batch batch = make_batch(data, {0, 1}, 64);
  Targets targets;
  targets.num_classes = 3;
  targets.begin = {0, 0};
  EXPECT_THROW((void)map_targets(targets, batch.images), std::invalid_argument);
  targets.begin = {0, 0, 0};
  EXPECT_NO_THROW(map_targets(targets, batch.images).validate(2, 3));
  const plugin::Predictions wrong{torch::ones({1, 4}), torch::ones({1}), torch::ones({1, 3}),
                                  torch::full({1}, 2, torch::kInt64)};
  EXPECT_THROW((void)unmap_predictions(wrong, batch.images), std::invalid_argument);
}

/// An input of 100 x 60: the left half shows image 7 at half its size, the right half image 3, mirrored. Beside it an
/// input with one image.
plugin::Images two_tiles() {
  plugin::Images out;
  out.pixels = torch::zeros({2, 3, 60, 100});
  plugin::ImageMeta mosaic, plain;
  mosaic.index = 3;
  mosaic.tiles = {{7, 100, 120, {{0.5, 0, 0, 0, 0.5, 0}}, {0, 0, 50, 60}},
                  {3, 50, 60, {{-1, 0, 100, 0, 1, 0}}, {50, 0, 100, 60}}};
  mosaic.to_input = mosaic.tiles[1].to_input;
  plain.index = 5;
  plain.to_input.m = {2, 0, 0, 0, 2, 0};
  out.meta = {mosaic, plain};
  return out;
}

TEST(Frames, ATargetGoesThroughItsTilesMapAndStaysInItsArea) {
  const plugin::Images images = two_tiles();
  const auto frames = frames_of(images);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].image, 7);
  EXPECT_EQ(frames[1].image, 3);
  EXPECT_EQ(frames[2].image, 5);
  EXPECT_EQ(frames[2].input, 1U);
  Targets targets;
  targets.num_classes = 1;
  targets.box = {{20, 20, 60, 40}, {80, 0, 120, 20}, {10, 10, 30, 50}, {5, 5, 20, 20}};
  targets.hard_label = {0, 0, 0, 0};
  targets.weight = {0.1, 0.2, 0.3, 0.4};
  targets.begin = {0, 2, 3, 4};
  const plugin::Targets mapped = map_targets(targets, images);
  EXPECT_NO_THROW(mapped.validate(2, 1));
  const auto expected = torch::tensor({10, 10, 30, 20,   // half the size
                                       40, 0, 50, 10,    // half of it lies beyond the tile
                                       70, 10, 90, 50,   // mirrored
                                       10, 10, 40, 40},  // twice the size
                                      torch::kFloat32);
  EXPECT_TRUE(torch::equal(mapped.boxes, expected.view({4, 4}))) << mapped.boxes;
  EXPECT_TRUE(torch::equal(mapped.image_index, torch::tensor({0, 0, 0, 1}, torch::kInt64)));
  targets.begin = {0, 3, 4};
  EXPECT_THROW((void)map_targets(targets, images), std::invalid_argument)
      << "an image for every frame, not every input";
}

TEST(Frames, ABoxOfAMosaicBelongsToTheTileItOverlapsMost) {
  const plugin::Images images = two_tiles();
  const auto boxes = torch::tensor({70, 10, 90, 50,   // in the right tile
                                    10, 10, 30, 20,   // in the left one
                                    45, 0, 65, 20,    // mostly in the right one
                                    10, 10, 40, 40},  // of the plain input
                                   torch::kFloat32)
                         .view({4, 4});
  const auto index = torch::tensor({0, 0, 0, 1}, torch::kInt64);
  const auto scores = torch::tensor({0.9F, 0.8F, 0.7F, 0.6F});
  const Predictions back = unmap_predictions({boxes, scores, torch::ones({4, 1}), index}, images);
  EXPECT_EQ(back.begin, (std::vector<std::size_t>{0, 1, 3, 4}));
  EXPECT_EQ(back.box[0], (Box{20, 20, 60, 40}));
  EXPECT_EQ(back.box[1], (Box{10, 10, 30, 50}));
  EXPECT_EQ(back.box[2], (Box{35, 0, 55, 20}));
  EXPECT_EQ(back.box[3], (Box{5, 5, 20, 20}));
  EXPECT_NEAR(back.score[1], 0.9, 1e-6) << "best first inside a frame";
  EXPECT_NEAR(back.score[2], 0.7, 1e-6);
  const auto found = unmap_detections({boxes, torch::tensor({0, 1, 2, 3}, torch::kInt64), scores, index}, images);
  ASSERT_EQ(found.size(), 3U);
  ASSERT_EQ(found[1].size(), 2U);
  EXPECT_EQ(found[1][1].label, 2);
  EXPECT_EQ(found[1][1].box, back.box[2]);
  EXPECT_EQ(found[2][0].label, 3);
}

TEST(Frames, EveryTileOfAMosaicIsToldWithItsMap) {
  const WhiteBoxes data;
  AugmentSettings settings;
  settings.mosaic = 1;
  const Batch batch = make_batch(data, {2}, 96, {settings, 1, 0, 1});
  const auto& tiles = batch.images.meta[0].tiles;
  ASSERT_FALSE(tiles.empty());
  EXPECT_TRUE(std::any_of(tiles.begin(), tiles.end(), [](const plugin::Tile& t) { return t.index == 2; }));
  Targets truth;
  truth.num_classes = 1;
  truth.begin = {0};
  for (const plugin::Tile& tile : tiles) {
    EXPECT_EQ(tile.original_width, 90);
    truth.box.push_back(data.labels().truth[static_cast<std::size_t>(tile.index)].box);
    truth.begin.push_back(truth.box.size());
  }
  truth.hard_label.assign(truth.box.size(), 0);
  truth.weight.assign(truth.box.size(), 1);
  EXPECT_TRUE(torch::equal(map_targets(truth, batch.images).boxes, batch.targets.boxes));
}

std::vector<Batch> all_batches(const Dataset& data, const std::vector<std::vector<std::int64_t>>& from, int workers,
                               std::int64_t first = 0) {
  BatchLoader loader(data, from, {32, {strong(), 5, 2, 0}, workers, first});
  std::vector<Batch> out;
  while (auto batch = loader.next()) out.push_back(std::move(*batch));
  EXPECT_FALSE(loader.next().has_value());
  return out;
}

TEST(BatchLoader, AnyNumberOfWorkersGivesTheSameBitsInTheSameOrder) {
  const FaultyData data({7, 8});
  const auto expected = all_batches(data, lists(40, 6), 0);
  ASSERT_EQ(expected.size(), 7u);
  for (const int workers : {1, 4, 16}) {
    const auto got = all_batches(data, lists(40, 6), workers);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same(got[i], expected[i])) << workers << " " << i;
  }
}

TEST(BatchLoader, GoesOnInTheMiddleOfTheListsWithTheSameBits) {
  const FaultyData data({});
  const auto whole = all_batches(data, lists(40, 6), 2);
  for (const std::int64_t first : {1, 4, 7}) {
    const auto rest = all_batches(data, lists(40, 6), 3, first);
    ASSERT_EQ(rest.size(), whole.size() - static_cast<std::size_t>(first));
    for (std::size_t i = 0; i < rest.size(); ++i)
      EXPECT_TRUE(same(rest[i], whole[i + static_cast<std::size_t>(first)]));
  }
}

TEST(BatchLoader, ABatchOfBrokenImagesIsPassedOverAndNumbersStay) {
  const FaultyData data({2, 3});
  for (const int workers : {0, 2}) {
    const auto got = all_batches(data, {{0, 1}, {2, 3}, {3, 4}}, workers);
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].number, 0);
    EXPECT_EQ(got[1].number, 2);
    EXPECT_EQ(got[1].size(), 1);
  }
}

TEST(BatchLoader, AnErrorArrivesAtItsBatchAndEndsTheLoading) {
  const FaultyData data({}, 9);
  const std::vector<std::vector<std::int64_t>> order{{0}, {1}, {2}, {9, 3}, {4}, {5}};
  for (const int workers : {0, 1, 4}) {
    BatchLoader loader(data, order, {32, {}, workers, 0});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(loader.next().has_value());
    EXPECT_THROW((void)loader.next(), DataError);
    EXPECT_FALSE(loader.next().has_value());
  }
}

TEST(BatchLoader, WorkersKeepAtMostTwiceTheirNumberAhead) {
  FaultyData data({});
  BatchLoader loader(data, lists(40, 1), {32, {}, 2, 0});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(data.loaded, 4);
}

TEST(BatchLoader, IsGivenUpPromptly) {
  FaultyData data({});
  data.delay = std::chrono::milliseconds(50);
  const auto begin = std::chrono::steady_clock::now();
  {
    BatchLoader loader(data, lists(40, 20), {32, {}, 2, 0});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(700));  // two batches would take 1 s
  EXPECT_LT(data.loaded, 10);
}

}  // namespace
}  // namespace bdc::host
