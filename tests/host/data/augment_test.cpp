// Geometry of augmentation: the map that is recorded is the map that moved the pixels.

#include "data/augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <opencv2/imgproc.hpp>

#include "bdc/base/random.h"
#include "data/pixels.h"
#include "data/shapes.h"

namespace bdc::host {
namespace {

AugmentSettings everything() {
  AugmentSettings s;
  s.rotate = 20;
  s.translate = 0.2;
  s.zoom = 0.4;
  s.shear = 8;
  s.flip_x = s.flip_y = 0.5;
  s.hue = 0.05;
  s.saturation = 0.5;
  s.value = 0.4;
  return s;
}

std::vector<float> placed(const cv::Mat& image, const Augmentation& a, int size, Placement* where = nullptr) {
  std::vector<float> out(static_cast<std::size_t>(3 * size * size));
  const Placement p = place_image(image, a, size, out.data());
  if (where) *where = p;
  return out;
}

void expect_near(const Box& a, const Box& b, double tolerance) {
  EXPECT_NEAR(a.x1, b.x1, tolerance);
  EXPECT_NEAR(a.y1, b.y1, tolerance);
  EXPECT_NEAR(a.x2, b.x2, tolerance);
  EXPECT_NEAR(a.y2, b.y2, tolerance);
}

TEST(BoxMap, MappedBoxSurroundsTheMappedCornersAndUnmapUndoesIt) {
  Random random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const AffineMap map = augmented_map(draw_augmentation(everything(), 1, 0, trial), 120, 80, 60, 40);
    const double x = random.uniform(0, 100), y = random.uniform(0, 60);
    const Box box{x, y, x + random.uniform(5, 20), y + random.uniform(5, 20)};
    Box corners{1e9, 1e9, -1e9, -1e9};
    for (const double cx : {box.x1, box.x2}) {
      for (const double cy : {box.y1, box.y2}) {
        const double u = map[0] * cx + map[1] * cy + map[2], v = map[3] * cx + map[4] * cy + map[5];
        corners = {std::min(corners.x1, u), std::min(corners.y1, v), std::max(corners.x2, u), std::max(corners.y2, v)};
      }
    }
    expect_near(map_box(map, box), corners, 1e-9);
    expect_near(unmap_box(map, map_box(map, box)), box, 1e-9);
  }
}

TEST(BoxMap, WhereSizesCannotBeToldApartTheScaleIsTakenOut) {
  const double c = std::sqrt(0.5);
  const AffineMap turned{2 * c, -2 * c, 7, 2 * c, 2 * c, 3};  // 45 degrees, twice as large
  const Box back = unmap_box(turned, {10, 10, 30, 50});
  EXPECT_NEAR(back.width(), 10, 1e-9);
  EXPECT_NEAR(back.height(), 20, 1e-9);
  EXPECT_THROW((void)unmap_box({1, 1, 0, 1, 1, 0}, {0, 0, 1, 1}), std::domain_error);
}

TEST(ClipToInput, LeavesOutWhatIsTooLittle) {
  EXPECT_EQ(*clip_to_input({-5, 2, 20, 30}, 64, 25), (Box{0, 2, 20, 25}));
  EXPECT_FALSE(clip_to_input({-91, 0, 9, 10}, 64, 64));     // 9 % left
  EXPECT_TRUE(clip_to_input({-89, 0, 11, 10}, 64, 64));     // 11 % left
  EXPECT_FALSE(clip_to_input({10, 10, 11.9, 30}, 64, 64));  // narrower than 2
  EXPECT_FALSE(clip_to_input({10, 70, 20, 90}, 64, 64));    // outside
  EXPECT_FALSE(clip_to_input({10, std::nan(""), 20, 30}, 64, 64));
}

TEST(Augmentation, DependsOnSeedEpochAndImageAloneAndEachSettingOnItself) {
  const auto a = draw_augmentation(everything(), 1, 2, 3), b = draw_augmentation(everything(), 1, 2, 3);
  EXPECT_EQ(a.angle, b.angle);
  EXPECT_EQ(a.value, b.value);
  EXPECT_NE(a.angle, draw_augmentation(everything(), 2, 2, 3).angle);
  EXPECT_NE(a.angle, draw_augmentation(everything(), 1, 3, 3).angle);
  EXPECT_NE(a.angle, draw_augmentation(everything(), 1, 2, 4).angle);
  AugmentSettings less = everything();
  less.rotate = less.hue = 0;
  const auto c = draw_augmentation(less, 1, 2, 3);
  EXPECT_EQ(c.angle, 0);
  EXPECT_EQ(c.zoom, a.zoom);
  EXPECT_EQ(c.value, a.value);
  EXPECT_EQ(c.flip_x, a.flip_x);
  int flips = 0;
  for (int i = 0; i < 1000; ++i) flips += draw_augmentation(everything(), 1, 0, i).flip_x;
  EXPECT_NEAR(flips, 500, 60);
}

TEST(Augmentation, NothingIsChangedByDefault) {
  const auto none = draw_augmentation({}, 7, 1, 2);
  EXPECT_FALSE(none.warps() || none.recolours() || none.flip_x || none.flip_y);
}

TEST(PlaceImage, WithoutAugmentationIsALetterboxFromTheTopLeft) {
  const ShapesData shapes({1, 3, 64, 2, 1});
  const cv::Mat image = shapes.image(0)(cv::Rect(0, 0, 64, 48)).clone();
  Placement where;
  const auto out = placed(image, {}, 96, &where);
  EXPECT_EQ(where.to_input, (AffineMap{1.5, 0, 0, 0, 1.5, 0}));
  EXPECT_EQ(where.content_width, 96);
  EXPECT_EQ(where.content_height, 72);
  cv::Mat resized;
  cv::resize(image, resized, {96, 72}, 0, 0, cv::INTER_LINEAR);
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 96; ++y) {
      for (int x = 0; x < 96; ++x) {
        const int value = y < 72 ? resized.at<cv::Vec3b>(y, x)[c] : 114;
        ASSERT_EQ(out[static_cast<std::size_t>((c * 96 + y) * 96 + x)], static_cast<float>(value) / 255.0f);
      }
    }
  }
}

TEST(PlaceImage, AFlipMirrorsThePixelsExactly) {
  const ShapesData shapes({1, 3, 64, 2, 1});
  Augmentation flip;
  flip.flip_x = true;
  const auto plain = placed(shapes.image(0), {}, 32), flipped = placed(shapes.image(0), flip, 32);
  for (std::size_t row = 0; row < 3 * 32; ++row) {
    for (std::size_t x = 0; x < 32; ++x) ASSERT_EQ(flipped[row * 32 + x], plain[row * 32 + 31 - x]);
  }
  // The general path through the warp gives the same pixels for the same map.
  Augmentation turned;  // half a turn is both flips
  turned.angle = 3.14159265358979323846;
  Augmentation both = flip;
  both.flip_y = true;
  const auto a = placed(shapes.image(0), turned, 64), b = placed(shapes.image(0), both, 64);
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(double(a[i]) - double(b[i])));
  EXPECT_LT(worst, 1.5 / 255);
}

/// A white rectangle on black: its weighted centre and extent in the input are where the recorded map says.
TEST(PlaceImage, PixelsGoWhereTheRecordedMapSays) {
  for (const int edge : {96, 600}) {  // 600: shrunk by more than two, through the averaging
    cv::Mat image(edge * 2 / 3, edge, CV_8UC3, cv::Scalar::all(0));
    const Box box{edge * 0.4, edge * 0.2, edge * 0.6, edge * 0.35};
    cv::rectangle(image, cv::Rect(int(box.x1), int(box.y1), int(box.width()), int(box.height())), cv::Scalar::all(255),
                  cv::FILLED);
    const Box exact{std::floor(box.x1), std::floor(box.y1), std::floor(box.x1) + std::floor(box.width()),
                    std::floor(box.y1) + std::floor(box.height())};
    AugmentSettings settings = everything();
    settings.hue = settings.saturation = settings.value = 0;
    for (int trial = 0; trial < 20; ++trial) {
      Placement where;
      const int size = 128;
      const auto out = placed(image, draw_augmentation(settings, 3, 0, trial), size, &where);
      const Box expected = map_box(where.to_input, exact);
      if (expected.x1 < 1 || expected.y1 < 1 || expected.x2 > size - 1 || expected.y2 > size - 1) continue;
      double sum = 0, sx = 0, sy = 0;
      Box seen{1e9, 1e9, -1e9, -1e9};
      for (int y = 0; y < size; ++y) {
        for (int x = 0; x < size; ++x) {
          const double v = out[static_cast<std::size_t>(y * size + x)];
          if (v < 0.6) continue;  // brighter than the padding
          sum += v, sx += v * (x + 0.5), sy += v * (y + 0.5);
          seen = {std::min(seen.x1, double(x)), std::min(seen.y1, double(y)), std::max(seen.x2, x + 1.0),
                  std::max(seen.y2, y + 1.0)};
        }
      }
      ASSERT_GT(sum, 0);
      EXPECT_NEAR(sx / sum, (expected.x1 + expected.x2) / 2, 0.3) << edge << " " << trial;
      EXPECT_NEAR(sy / sum, (expected.y1 + expected.y2) / 2, 0.3) << edge << " " << trial;
      expect_near(seen, expected, 2.0);
    }
  }
}

TEST(PlaceImage, ColoursChangeButPaddingAndTheSharedImageDoNot) {
  const ShapesData shapes({1, 3, 64, 2, 1});
  const cv::Mat image = shapes.image(0), before = image.clone();
  Augmentation a;
  a.value = 0.5;
  a.saturation = 1.3;
  a.hue = 0.1;
  for (const double shift : {0.0, 0.25}) {
    a.shift_x = shift;
    const auto out = placed(image(cv::Rect(0, 0, 64, 32)), a, 64);
    EXPECT_EQ(out[63 * 64 + 63], 114.0f / 255.0f);
    EXPECT_LT(*std::max_element(out.begin(), out.begin() + 32 * 64), 0.6f);  // half as bright
  }
  EXPECT_EQ(cv::norm(image, before, cv::NORM_INF), 0);
}

TEST(PlaceImage, OneByOneAndVeryLongImagesAreTaken) {
  for (const auto size : {cv::Size(1, 1), cv::Size(3000, 1), cv::Size(1, 3000)}) {
    const cv::Mat image(size, CV_8UC3, cv::Scalar::all(50));
    for (int trial = 0; trial < 5; ++trial) {
      Placement where;
      (void)placed(image, draw_augmentation(everything(), 1, 0, trial), 32, &where);
      for (const double m : where.to_input) EXPECT_TRUE(std::isfinite(m));
    }
  }
}

}  // namespace
}  // namespace bdc::host
