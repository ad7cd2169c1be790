#include "pictures/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <opencv2/imgproc.hpp>

#include "pictures/picture.h"

namespace bdc::host {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr int kWidth = 620, kHeight = 440, kLeft = 70, kRight = 20, kTop = 40, kBottom = 56;
const cv::Scalar kInk(40, 40, 40), kGrid(225, 225, 225), kPaper(255, 255, 255);

void text(cv::Mat& canvas, const std::string& words, cv::Point at, double size, int align) {
  int baseline = 0;
  const cv::Size extent = cv::getTextSize(words, kFont, size, 1, &baseline);
  at.x -= align * extent.width / 2;  // 0: left, 1: centre, 2: right
  cv::putText(canvas, words, at, kFont, size, kInk, 1, cv::LINE_AA);
}

std::string tick_text(double value) {
  char out[32];
  std::snprintf(out, sizeof(out), "%.4g", std::abs(value) < 1e-12 ? 0.0 : value);
  return out;
}

/// Lines must be told apart on white: the class colours, a little darker. Black for a line among classes that is none.
cv::Scalar line_colour(const Plot& plot, std::size_t n) {
  const bool has_classes =
      std::any_of(plot.lines.begin(), plot.lines.end(), [](const PlotLine& line) { return line.label.has_value(); });
  if (has_classes && !plot.lines[n].label) return kInk;
  const cv::Scalar c = class_colour(plot.lines[n].label.value_or(n));
  return {c[0] * 0.85, c[1] * 0.8, c[2] * 0.85};
}

constexpr std::size_t kMostNames = 16;
constexpr double kNameSize = 0.42;
constexpr int kSampleLine = 26;  ///< pixels in front of a name

/// The name as the legend shows it: cut when it is very long.
std::string legend_name(const PlotLine& line) {
  constexpr std::size_t kLongest = 24;
  return line.name.size() <= kLongest ? line.name : line.name.substr(0, kLongest - 3) + "...";
}

int legend_width(const Plot& plot) {
  int widest = 0, baseline = 0;
  for (const PlotLine& line : plot.lines) {
    widest = std::max(widest, cv::getTextSize(legend_name(line), kFont, kNameSize, 1, &baseline).width);
  }
  return plot.lines.empty() ? 0 : kSampleLine + widest + 24;
}

/// From the top, to the right of the chart, where no line can be under it.
void draw_legend(cv::Mat canvas, const Plot& plot) {
  constexpr int kRow = 20;
  for (std::size_t n = 0; n < std::min(plot.lines.size(), kMostNames); ++n) {
    const int at = kTop + 14 + static_cast<int>(n) * kRow;
    if (n + 1 == kMostNames && plot.lines.size() > kMostNames) {
      text(canvas, "...", {kSampleLine, at}, kNameSize, 0);
      break;
    }
    cv::line(canvas, {0, at - 4}, {kSampleLine - 6, at - 4}, line_colour(plot, n), 2, cv::LINE_AA);
    text(canvas, legend_name(plot.lines[n]), {kSampleLine, at}, kNameSize, 0);
  }
}

struct Axis {
  double low = 0, high = 1;
  int from = 0, to = 1;  ///< pixels
  [[nodiscard]] int at(double v) const {
    return static_cast<int>(std::lround(from + (v - low) / (high - low) * (to - from)));
  }
};

void draw_plot(cv::Mat canvas, const Plot& plot) {
  double x_low = 1e300, x_high = -1e300, y_low = 1e300, y_high = -1e300;
  for (const PlotLine& line : plot.lines) {
    for (std::size_t n = 0; n < line.x.size(); ++n) {
      if (!std::isfinite(line.x[n]) || !std::isfinite(line.y[n])) continue;
      x_low = std::min(x_low, line.x[n]);
      x_high = std::max(x_high, line.x[n]);
      y_low = std::min(y_low, line.y[n]);
      y_high = std::max(y_high, line.y[n]);
    }
  }
  text(canvas, plot.title, {kWidth / 2, 24}, 0.55, 1);
  text(canvas, plot.x_label, {(kLeft + kWidth - kRight) / 2, kHeight - 12}, 0.45, 1);
  text(canvas, plot.y_label, {8, kTop - 8}, 0.45, 0);
  if (x_low > x_high) {
    text(canvas, "no data yet", {kWidth / 2, kHeight / 2}, 0.5, 1);
    return;
  }
  if (plot.y_range) std::tie(y_low, y_high) = *plot.y_range;
  const auto widen = [](double& low, double& high) {
    if (high - low < 1e-12) {
      low -= 0.5;
      high += 0.5;
    }
  };
  widen(x_low, x_high);
  widen(y_low, y_high);
  const std::vector<double> x_ticks = round_ticks(x_low, x_high, 7), y_ticks = round_ticks(y_low, y_high, 6);
  const Axis x{x_low, x_high, kLeft, kWidth - kRight};
  const Axis y{std::min(y_low, y_ticks.front()), std::max(y_high, y_ticks.back()), kHeight - kBottom, kTop};
  for (const double t : x_ticks) {
    if (t < x.low - 1e-9 || t > x.high + 1e-9) continue;
    if (plot.whole_x && std::abs(t - std::round(t)) > 1e-9) continue;
    cv::line(canvas, {x.at(t), y.from}, {x.at(t), y.to}, kGrid);
    text(canvas, tick_text(t), {x.at(t), y.from + 18}, 0.42, 1);
  }
  for (const double t : y_ticks) {
    cv::line(canvas, {x.from, y.at(t)}, {x.to, y.at(t)}, kGrid);
    text(canvas, tick_text(t), {x.from - 8, y.at(t) + 5}, 0.42, 2);
  }
  cv::rectangle(canvas, {x.from, y.to}, {x.to, y.from}, kInk);
  for (std::size_t n = 0; n < plot.lines.size(); ++n) {
    const PlotLine& line = plot.lines[n];
    std::vector<cv::Point> points;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      if (std::isfinite(line.x[i]) && std::isfinite(line.y[i])) {
        points.emplace_back(x.at(line.x[i]), y.at(std::clamp(line.y[i], y.low, y.high)));
      }
    }
    cv::polylines(canvas, points, false, line_colour(plot, n), 2, cv::LINE_AA);
    if (points.size() == 1) cv::circle(canvas, points[0], 3, line_colour(plot, n), cv::FILLED, cv::LINE_AA);
  }
}

}  // namespace

cv::Mat draw_plots(const std::vector<Plot>& plots) {
  std::vector<int> left{0};
  for (const Plot& plot : plots) left.push_back(left.back() + kWidth + legend_width(plot));
  cv::Mat canvas(kHeight, std::max(1, left.back()), CV_8UC3, kPaper);
  for (std::size_t n = 0; n < plots.size(); ++n) {
    draw_plot(canvas(cv::Rect(left[n], 0, kWidth, kHeight)), plots[n]);
    draw_legend(canvas(cv::Rect(left[n] + kWidth, 0, left[n + 1] - left[n] - kWidth, kHeight)), plots[n]);
  }
  return canvas;
}

}  // namespace bdc::host
