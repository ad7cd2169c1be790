#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "show/chart.h"

/// Charts as SVG text, coloured by the page's style sheet: series n has the class s<n>, so that both themes fit.
namespace bdc::host {

struct SvgChart {
  std::string title, x_label, y_label;
  std::vector<PlotLine> lines;
  std::optional<std::pair<double, double>> y_range;  ///< otherwise from the data
  bool markers = true;                               ///< a point with a tooltip at every value, when they are not many
  int width = 440, height = 260;
  bool whole_x = false;                   ///< ticks of x at whole numbers only
  std::vector<std::string> x_names = {};  ///< x = 1, 2, ... are these things: points beside each other instead of lines
};

/// A line chart with axes, grid and legend; lines differ in their dashes too. Points that are not finite are left out;
/// a chart without any point says so.
[[nodiscard]] std::string svg_lines(const SvgChart& chart);

struct SvgPoint {
  double x = 0, y = 0;
  std::size_t series = 0;
  std::string tooltip;
};

/// A scatter plot on [x_low, x_high] x [y_low, y_high]; points outside are moved to the edge.
[[nodiscard]] std::string svg_points(const std::string& title, const std::string& x_label, const std::string& y_label,
                                     const std::vector<SvgPoint>& points, std::pair<double, double> x_range,
                                     std::pair<double, double> y_range);

}  // namespace bdc::host
