#include <algorithm>

#include "studio/report/html.h"
#include "studio/report/sections.h"
#include "studio/report/svg_chart.h"

namespace bdc::host {
namespace {

constexpr std::size_t kMostLines = 8;

std::string text_of(const Json& row, const char* key) {
  return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : std::string();
}

bool has_number(const Json& row, const std::string& column) {
  return row.contains("numbers") && row["numbers"].contains(column) && row["numbers"][column].contains("mean") &&
         row["numbers"][column]["mean"].is_number();
}

double mean_of(const Json& row, const std::string& column) {
  return row["numbers"][column]["mean"].get<double>();
}

bool is_share(const std::string& column) {
  return column.find("AP") != std::string::npos;
}

/// As in table.md: shares in percent with one decimal, seconds with two.
std::string number_text(const Json& row, const std::string& column) {
  if (!has_number(row, column)) return "–";
  const double factor = is_share(column) ? 100 : 1;
  const int decimals = is_share(column) ? 1 : 2;
  const Json& number = row["numbers"][column];
  const double deviation = number.value("deviation", 0.0);
  const bool several = number.contains("values") && number["values"].size() > 1;
  return in_column(factor * mean_of(row, column), decimals) +
         (several ? " ± " + in_column(factor * deviation, decimals) : "");
}

std::string seeds_text(const Json& row) {
  const int done = row.value("done", 0), all = row.value("seeds", done);
  return std::to_string(done) + (done < all ? " of " + std::to_string(all) : "");
}

std::vector<std::string> columns_of(const std::vector<Json>& rows) {
  std::vector<std::string> out;
  for (const Json& row : rows) {
    if (!row.contains("numbers")) continue;
    for (const auto& [name, value] : row["numbers"].items()) {
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

/// One chart of a column for one pair of data and detector: every method's point at every crowd, in the file's order.
std::string chart_of(const std::vector<Json>& rows, const std::string& column, const std::string& data,
                     const std::string& detector) {
  std::vector<std::string> crowds;
  SvgChart chart{column + " %, " + data + (detector.empty() ? "" : ", " + detector), "crowd", "", {}, {}};
  for (const Json& row : rows) {
    if (text_of(row, "data") != data || text_of(row, "detector") != detector || !has_number(row, column)) continue;
    const std::string crowd = text_of(row, "crowd"), method = text_of(row, "method");
    auto at = std::find(crowds.begin(), crowds.end(), crowd);
    if (at == crowds.end()) at = crowds.insert(crowds.end(), crowd);
    auto line =
        std::find_if(chart.lines.begin(), chart.lines.end(), [&](const PlotLine& l) { return l.name == method; });
    if (line == chart.lines.end()) {
      if (chart.lines.size() == kMostLines) continue;
      line = chart.lines.insert(chart.lines.end(), {method, {}, {}});
    }
    line->x.push_back(static_cast<double>(at - crowds.begin() + 1));
    line->y.push_back(100 * mean_of(row, column));
  }
  if (crowds.size() < 2 || chart.lines.empty()) return "";
  double most = 1;
  for (const PlotLine& line : chart.lines) most = std::max(most, *std::max_element(line.y.begin(), line.y.end()));
  chart.y_range = {0, 1.05 * most};
  chart.x_names = crowds;
  return "<div class=\"card\">" + svg_lines(chart) + "</div>";
}

}  // namespace

std::string experiment_section(const ReportData& data) {
  if (!data.experiment.is_object() || !data.experiment.contains("rows") || !data.experiment["rows"].is_array())
    return "";
  const std::vector<Json> rows(data.experiment["rows"].begin(), data.experiment["rows"].end());
  const auto columns = columns_of(rows);
  std::string out =
      "<section id=\"experiment\"><h2>The experiment</h2><div class=\"scroll\"><table "
      "id=\"experiment-table\"><thead><tr>"
      "<th scope=\"col\">data</th><th scope=\"col\">crowd</th><th scope=\"col\">detector</th><th "
      "scope=\"col\">method</th>";
  for (const auto& c : columns) {
    out += "<th scope=\"col\" class=\"n\">" + escape_html(c) + (is_share(c) ? " %" : "") + "</th>";
  }
  out += "<th scope=\"col\" class=\"n\">seeds</th></tr></thead><tbody>";
  std::vector<std::pair<std::string, std::string>> settings;
  for (const Json& row : rows) {
    if (!row.is_object()) continue;
    const std::pair<std::string, std::string> setting = {text_of(row, "data"), text_of(row, "detector")};
    if (std::find(settings.begin(), settings.end(), setting) == settings.end()) settings.push_back(setting);
    out += "<tr>";
    for (const char* key : {"data", "crowd", "detector", "method"})
      out += "<td>" + isolated(text_of(row, key)) + "</td>";
    for (const auto& c : columns) out += "<td class=\"n\">" + number_text(row, c) + "</td>";
    out += "<td class=\"n\">" + seeds_text(row) + "</td></tr>";
  }
  out += "</tbody></table></div><div class=\"cards\">";
  for (const auto& [name, detector] : settings) {
    for (const char* column : {"test AP", "labels AP"}) out += chart_of(rows, column, name, detector);
  }
  return out + "</div></section>";
}

}  // namespace bdc::host
