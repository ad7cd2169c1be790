#include "bdc/crowd/geometry.h"

#include <gtest/gtest.h>

#include "bdc/crowd/clip_to_image.h"

namespace {

TEST(Geometry, GeneralisedIouIsIouMinusTheEmptyShareOfTheHull) {
  const bdc::Box a{0, 0, 2, 2};
  EXPECT_DOUBLE_EQ(bdc::giou(a, a), 1);
  EXPECT_DOUBLE_EQ(bdc::giou(a, {1, 0, 3, 2}), 1.0 / 3);  // the hull is the union
  EXPECT_DOUBLE_EQ(bdc::giou(a, {3, 0, 5, 2}), -0.2);     // apart: 8 of 10 covered
  EXPECT_GT(bdc::giou(a, {2, 0, 4, 2}), bdc::giou(a, {200, 0, 202, 2}));
  EXPECT_EQ(bdc::giou({1, 1, 1, 1}, {1, 1, 1, 1}), -1);
}

TEST(Geometry, CentreFormAndBack) {
  const bdc::CenterBox center = bdc::to_center({10, 20, 30, 60});
  EXPECT_EQ(center.cx, 20);
  EXPECT_EQ(center.cy, 40);
  EXPECT_EQ(center.w, 20);
  EXPECT_EQ(center.h, 40);
  EXPECT_EQ(bdc::to_corners(center), (bdc::Box{10, 20, 30, 60}));
}

TEST(Geometry, ClippingKeepsThePartInsideAndLeavesNothingOfABoxOutside) {
  bdc::ImageRecord image;
  const bdc::Box box{-5, 10, 50, 90};
  EXPECT_EQ(bdc::clip_to_image(box, image), box) << "no size, nothing to clip";
  image.width = 40;
  image.height = 80;
  EXPECT_EQ(bdc::clip_to_image(box, image), (bdc::Box{0, 10, 40, 80}));
  EXPECT_EQ(bdc::clip_to_image({1, 2, 3, 4}, image), (bdc::Box{1, 2, 3, 4}));
  for (const bdc::Box& outside : {bdc::Box{-9, 1, -2, 5}, bdc::Box{40, 1, 44, 5}, bdc::Box{1, 81, 5, 90}}) {
    EXPECT_FALSE(bdc::clip_to_image(outside, image).valid());
  }
  EXPECT_FALSE(bdc::clip_to_size(box, 0, 0).valid());
}

}  // namespace
