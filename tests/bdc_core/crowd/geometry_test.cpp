#include "bdc/crowd/geometry.h"

#include <gtest/gtest.h>

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

}  // namespace
