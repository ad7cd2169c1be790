#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bdc::host {

struct PlotLine {
  std::string name;
  std::vector<double> x, y;  ///< points that are not finite are left out
  /// A class: the line is drawn in its colour. Otherwise its place in the plot decides.
  std::optional<std::size_t> label = {};
};

struct Plot {
  std::string title, x_label, y_label;
  std::vector<PlotLine> lines;
  std::optional<std::pair<double, double>> y_range;  ///< otherwise from the data
  bool whole_x = false;                              ///< ticks of x at whole numbers only
};

/// About `count` round numbers that cover low..high: 0, 0.2, 0.4...
[[nodiscard]] std::vector<double> round_ticks(double low, double high, int count);

}  // namespace bdc::host
