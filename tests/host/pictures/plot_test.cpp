// Line charts.

#include "pictures/plot.h"

#include <gtest/gtest.h>

namespace bdc::host {
namespace {

/// The least and the largest column that hold a pixel of strong colour, and how many of those between do.
struct Columns {
  int first = -1, last = -1, coloured = 0;
};

Columns coloured_columns(const cv::Mat& picture, int from_row, int to_row, int columns) {
  Columns out;
  for (int x = 0; x < columns; ++x) {
    bool has = false;
    for (int y = from_row; y < to_row && !has; ++y) {
      const auto& p = picture.at<cv::Vec3b>(y, x);
      has = std::max({p[0], p[1], p[2]}) - std::min({p[0], p[1], p[2]}) > 60;
    }
    if (!has) continue;
    if (out.first < 0) out.first = x;
    out.last = x;
    ++out.coloured;
  }
  return out;
}

TEST(Plot, TheLegendNeverCoversALine) {
  constexpr int kChart = 620;                      // what is further right is legend
  for (const double height : {0.03, 0.5, 0.97}) {  // also where a legend in a corner would lie
    Plot plot{"t", "x", "y", {{"a rather long name", {0, 10}, {height, height}}}, std::make_pair(0.0, 1.0)};
    const cv::Mat picture = draw_plots({plot});
    ASSERT_GT(picture.cols, kChart);
    const Columns line = coloured_columns(picture, 0, picture.rows, kChart);
    EXPECT_GT(line.coloured, 500);
    EXPECT_EQ(line.coloured, line.last - line.first + 1) << "the line is whole at " << height;
  }
}

TEST(Plot, ChartsStandSideBySideEachWithItsLegend) {
  const PlotLine line{"one", {0, 1}, {0, 1}};
  const int one = draw_plots({{"a", "x", "y", {line}, {}}}).cols;
  EXPECT_EQ(draw_plots({{"a", "x", "y", {line}, {}}, {"b", "x", "y", {line}, {}}}).cols, 2 * one);
  const PlotLine endless{std::string(500, 'w'), {0, 1}, {0, 1}};
  EXPECT_LT(draw_plots({{"a", "x", "y", {endless}, {}}}).cols, 2 * one) << "long names are cut";
  EXPECT_FALSE(draw_plots({{"a", "x", "y", {}, {}}}).empty());
}

}  // namespace
}  // namespace bdc::host
