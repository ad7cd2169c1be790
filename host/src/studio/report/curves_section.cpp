#include <algorithm>
#include <cmath>

#include "bdc/base/text.h"
#include "files/metrics_log.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"
#include "studio/report/svg_chart.h"

namespace bdc::host {
namespace {

constexpr std::size_t kMostLines = 8, kMostRows = 500;

PlotLine line_of(const std::vector<Json>& records, const std::string& key, const std::string& name) {
  LoggedNumber logged = logged_number(records, key);
  return {name, std::move(logged.epoch), std::move(logged.value), {}};
}

/// Every name that was ever logged as a number, in the order of its first appearance.
std::vector<std::string> logged_names(const std::vector<Json>& records) {
  std::vector<std::string> out;
  for (const Json& record : records) {
    for (const auto& [key, value] : record.items()) {
      if (!value.is_number() || key == "epoch" || key == "step") continue;
      if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(key);
    }
  }
  return out;
}

/// Decimals that leave four digits of the largest number of a column; none where all are whole.
int decimals_of(const std::vector<Json>& records, const std::string& name) {
  double largest = 0;
  bool whole = true;
  for (const Json& record : records) {
    if (!record.contains(name) || !record[name].is_number()) continue;
    const double v = record[name].get<double>();
    if (!std::isfinite(v)) continue;
    largest = std::max(largest, std::fabs(v));
    whole = whole && v == std::round(v);
  }
  return whole ? 0 : std::clamp(3 - static_cast<int>(std::floor(std::log10(largest))), 1, 9);
}

std::string numbers_table(const std::vector<Json>& records, const std::vector<std::string>& names) {
  std::string out =
      "<details><summary>The numbers</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\" "
      "class=\"n\">epoch</th>";
  std::vector<int> decimals;
  for (const auto& name : names) {
    out += "<th scope=\"col\" class=\"n\">" + escape_html(name) + "</th>";
    decimals.push_back(decimals_of(records, name));
  }
  out += "</tr></thead><tbody>";
  const std::size_t first = records.size() > kMostRows ? records.size() - kMostRows : 0;
  for (std::size_t r = first; r < records.size(); ++r) {
    out += "<tr><td class=\"n\">" + brief(records[r]["epoch"].get<double>(), 7) + "</td>";
    for (std::size_t n = 0; n < names.size(); ++n) {
      const bool has = records[r].contains(names[n]) && records[r][names[n]].is_number();
      out += "<td class=\"n\">" + (has ? in_column(records[r][names[n]].get<double>(), decimals[n]) : "") + "</td>";
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div></details>";
}

}  // namespace

std::string curves_section(const ReportData& data) {
  const auto names = logged_names(data.metrics);
  SvgChart loss{"Training loss", "epoch", "", {}, {}},
      ap{"Average precision", "epoch", "", {}, std::make_pair(0.0, 1.0)}, bound{"Lower bound", "epoch", "", {}, {}};
  for (const auto& name : names) {
    const auto slash = name.find('/');
    const std::string part = name.substr(0, slash), what = slash == std::string::npos ? "" : name.substr(slash + 1);
    if (ends_with(name, "/bound")) {
      bound.lines.push_back(line_of(data.metrics, name, name));
    } else if (what == "AP" || what == "AP50" || what == "AP75") {
      ap.lines.push_back(line_of(data.metrics, name, part == "test" ? "test " + what : part + " labels " + what));
    } else if (part == "train" && what != "learning_rate" && what != "images_per_second") {
      loss.lines.push_back(line_of(data.metrics, name, what));
    }
  }
  if (!data.bound.empty()) {
    PlotLine line{"aggregation", {}, data.bound};
    for (std::size_t r = 0; r < data.bound.size(); ++r) line.x.push_back(static_cast<double>(r + 1));
    bound.x_label = "round";
    bound.lines = {line};
  }
  std::string charts;
  for (SvgChart* chart : {&loss, &ap, &bound}) {
    chart->whole_x = true;
    if (chart->lines.size() > kMostLines) chart->lines.resize(kMostLines);
    if (!chart->lines.empty()) charts += "<div class=\"card\">" + svg_lines(*chart) + "</div>";
  }
  if (charts.empty()) return "";
  std::string out = "<section id=\"curves\"><h2>How it went</h2><div class=\"cards\">" + charts + "</div>";
  if (!data.metrics.empty()) out += numbers_table(data.metrics, names);
  return out + "</section>";
}

}  // namespace bdc::host
