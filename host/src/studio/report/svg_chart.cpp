#include "studio/report/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bdc/base/table.h"
#include "studio/report/html.h"

namespace bdc::host {
namespace {

constexpr double kLeft = 58, kRight = 12, kTop = 30, kBottom = 40;
constexpr std::size_t kMostMarkers = 200;

std::string at(double v) {
  return brief(std::round(v * 10) / 10, 5);
}

/// Numbers of an axis, and where they are drawn.
struct Axis {
  double low, high, from, to;
  [[nodiscard]] double place(double v) const {
    return from + (to - from) * (std::clamp(v, low, high) - low) / (high - low);
  }
};

/// A number at an axis whose ticks are `step` apart; large ones in thousands or millions.
std::string tick_text(double v, double step) {
  const double size = std::fabs(v) + step;
  const double unit = size >= 2e6 ? 1e6 : size >= 2e4 ? 1e3 : 1;
  if (size >= 1e10) return brief(v, 4);
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step / unit) - 1e-9)), 0, 6);
  return fixed(std::fabs(v) < step * 1e-6 ? 0 : v / unit, decimals) + (unit == 1e6 ? "M" : unit == 1e3 ? "k" : "");
}

/// Where an axis has a grid line, and the text there.
using Ticks = std::vector<std::pair<double, std::string>>;

/// Round numbers inside an axis; `whole`: no fractions.
Ticks ticks_of(double low, double high, int count, bool whole = false) {
  auto ticks = round_ticks(low, high, count);
  if (whole && ticks.size() > 1 && ticks[1] - ticks[0] < 1) {
    ticks.clear();
    for (double t = std::ceil(low); t <= high; ++t) ticks.push_back(t);
  }
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1, air = 1e-9 * (high - low);
  Ticks out;
  for (const double t : ticks) {
    if (t >= low - air && t <= high + air) out.emplace_back(t, tick_text(t, step));
  }
  return out;
}

/// A text at an axis, shortened to so many characters; the tooltip has the whole.
std::string label(const std::string& text, std::size_t most) {
  const std::string cut = shortened(text, most);
  return cut == text ? escape_html(text) : escape_html(cut) + "<title>" + escape_html(text) + "</title>";
}

/// x_space: characters that fit below a tick of x.
std::string frame(const Axis& x, const Axis& y, const std::string& title, const std::string& x_label,
                  const std::string& y_label, int width, int height, const Ticks& x_ticks, std::size_t x_space) {
  std::string out = "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 " + std::to_string(width) + " " +
                    std::to_string(height) + "\"><title>" + escape_html(title) + "</title><text class=\"t\" x=\"" +
                    at(x.from) + "\" y=\"18\">" + label(title, static_cast<std::size_t>(width / 8)) + "</text>";
  for (const auto& [t, text] : ticks_of(y.low, y.high, 7)) {
    out += "<path class=\"g\" d=\"M" + at(x.from) + " " + at(y.place(t)) + "H" + at(x.to) +
           "\"/><text class=\"l e\" x=\"" + at(x.from - 6) + "\" y=\"" + at(y.place(t) + 4) + "\">" + text + "</text>";
  }
  for (const auto& [t, text] : x_ticks) {
    out += "<path class=\"g\" d=\"M" + at(x.place(t)) + " " + at(y.from) + "V" + at(y.to) +
           "\"/><text class=\"l m x\" x=\"" + at(x.place(t)) + "\" y=\"" + at(y.from + 16) + "\">" +
           label(text, x_space) + "</text>";
  }
  out += "<text class=\"l m\" x=\"" + at((x.from + x.to) / 2) + "\" y=\"" + at(y.from + 33) + "\">" +
         escape_html(x_label) + "</text>";
  if (!y_label.empty()) {
    const double middle = (y.from + y.to) / 2;
    out += "<text class=\"l m\" transform=\"rotate(-90 13 " + at(middle) + ")\" x=\"13\" y=\"" + at(middle) + "\">" +
           escape_html(y_label) + "</text>";
  }
  return out;
}

/// The mark of series n: shapes differ, so that colour is not alone.
std::string mark(std::size_t n, double x, double y, const std::string& tooltip) {
  const std::string title = tooltip.empty() ? "" : "<title>" + escape_html(tooltip) + "</title>";
  if (n % 4 == 0) return "<circle cx=\"" + at(x) + "\" cy=\"" + at(y) + "\" r=\"4\">" + title + "</circle>";
  static constexpr const char* kShapes[] = {"", "m-4-4h8v8h-8z", "m0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z", "m0-5l5 9h-10z"};
  return "<path class=\"k\" d=\"M" + at(x) + " " + at(y) + kShapes[n % 4] + "\">" + title + "</path>";
}

/// A range that is not empty and has some air.
std::pair<double, double> padded(double low, double high) {
  if (!(low <= high)) return {0, 1};
  const double air = high > low ? (high - low) * 0.04 : std::max(1.0, std::fabs(low)) * 0.05;
  return {low - air, high + air};
}

}  // namespace

std::string svg_lines(const SvgChart& chart) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double x_low = kInfinity, x_high = -kInfinity, y_low = kInfinity, y_high = -kInfinity;
  std::size_t count = 0;
  for (const PlotLine& line : chart.lines) {
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      if (!std::isfinite(line.x[i]) || !std::isfinite(line.y[i])) continue;
      x_low = std::min(x_low, line.x[i]), x_high = std::max(x_high, line.x[i]);
      y_low = std::min(y_low, line.y[i]), y_high = std::max(y_high, line.y[i]);
      ++count;
    }
  }
  if (count == 0) return "<p class=\"none\">" + escape_html(chart.title) + ": no values</p>";
  const std::size_t names = chart.x_names.size();
  if (names > 0) x_low = 0.5, x_high = static_cast<double>(names) + 0.5;
  if (x_low == x_high) x_low -= 0.5, x_high += 0.5;
  const auto y_range = chart.y_range ? *chart.y_range : padded(y_low, y_high);
  const Axis x{x_low, x_high, kLeft, chart.width - kRight},
      y{y_range.first, y_range.second, chart.height - kBottom, kTop};
  Ticks ticks = names > 0 ? Ticks() : ticks_of(x_low, x_high, 6, chart.whole_x);
  for (std::size_t n = 0; n < names; ++n) ticks.emplace_back(static_cast<double>(n + 1), chart.x_names[n]);
  const auto space =
      static_cast<std::size_t>((x.to - x.from) / 6.5 / static_cast<double>(std::max<std::size_t>(1, names)));
  std::string out = frame(x, y, chart.title, chart.x_label, chart.y_label, chart.width, chart.height, ticks,
                          std::max<std::size_t>(8, space));
  const auto count_of_lines = static_cast<double>(chart.lines.size());
  for (std::size_t n = 0; n < chart.lines.size(); ++n) {
    const PlotLine& line = chart.lines[n];
    const double aside = 0.6 * ((static_cast<double>(n) + 0.5) / count_of_lines - 0.5);
    std::string path, dots;
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      if (!std::isfinite(line.x[i]) || !std::isfinite(line.y[i])) continue;
      const auto which = static_cast<std::size_t>(line.x[i]);
      const std::string where = names > 0 ? chart.x_names[which - 1] : brief(line.x[i], 6),
                        tooltip = line.name + ", " + chart.x_label + " " + where + ": " + brief(line.y[i], 8);
      if (names > 0) {
        dots += mark(n, x.place(line.x[i] + aside), y.place(line.y[i]), tooltip);
        continue;
      }
      const std::string px = at(x.place(line.x[i])), py = at(y.place(line.y[i]));
      path += (path.empty() ? "M" : "L") + px + " " + py;
      if (chart.markers && line.x.size() <= kMostMarkers) {
        dots += "<circle cx=\"" + px + "\" cy=\"" + py + "\" r=\"2.5\"><title>" + escape_html(tooltip) +
                "</title></circle>";
      }
    }
    if (!path.empty()) path = "<path class=\"d\" d=\"" + path + "\"/>";
    if (!path.empty() || !dots.empty()) out += "<g class=\"s" + std::to_string(n % 8) + "\">" + path + dots + "</g>";
  }
  out += "</svg>";
  if (chart.lines.size() > 1) {
    out += "<p class=\"legend\">";
    for (std::size_t n = 0; n < chart.lines.size(); ++n) {
      out += "<span class=\"s" + std::to_string(n % 8) + "\" title=\"" + escape_html(chart.lines[n].name) +
             "\"><svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 24 12\">" +
             (names > 0 ? mark(n, 12, 6, "") : "<path class=\"d\" d=\"M0 6H24\"/>") + "</svg>" +
             isolated(chart.lines[n].name) + "</span> ";
    }
    out += "</p>";
  }
  return out;
}

std::string svg_points(const std::string& title, const std::string& x_label, const std::string& y_label,
                       const std::vector<SvgPoint>& points, std::pair<double, double> x_range,
                       std::pair<double, double> y_range) {
  constexpr int kWidth = 440, kHeight = 300;
  const Axis x{x_range.first, x_range.second, kLeft, kWidth - kRight},
      y{y_range.first, y_range.second, kHeight - kBottom, kTop};
  std::string out = frame(x, y, title, x_label, y_label, kWidth, kHeight, ticks_of(x.low, x.high, 6), 12);
  for (const SvgPoint& p : points) {
    if (!std::isfinite(p.x) || !std::isfinite(p.y)) continue;
    out += "<circle class=\"p s" + std::to_string(p.series % 8) + "\" cx=\"" + at(x.place(p.x)) + "\" cy=\"" +
           at(y.place(p.y)) + "\" r=\"4\"><title>" + escape_html(p.tooltip) + "</title></circle>";
  }
  return out + "</svg>";
}

}  // namespace bdc::host
