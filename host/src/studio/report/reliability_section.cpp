#include "bdc/metrics/calibration.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"
#include "studio/report/svg_chart.h"

namespace bdc::host {
namespace {

/// A bin of fewer targets is left out of the picture: its share of right ones is mostly chance.
constexpr std::size_t kLeastInBin = 10;
constexpr std::size_t kBins = 10;

PlotLine line_of(const std::string& name, const Calibration& c) {
  PlotLine line;
  line.name = name;
  for (const CalibrationBin& bin : c.bins) {
    if (bin.count < kLeastInBin) continue;
    line.x.push_back(bin.mean_confidence);
    line.y.push_back(bin.share_correct);
  }
  return line;
}

std::string row(const std::string& method, const char* what, const Calibration& c) {
  return "<tr><td>" + isolated(method) + "</td><td>" + what + "</td><td class=\"n\">" + std::to_string(c.count) +
         "</td><td class=\"n\">" + in_column(100 * c.expected_error, 1) + "</td><td class=\"n\">" +
         in_column(100 * c.error_low, 1) + " to " + in_column(100 * c.error_high, 1) + "</td></tr>";
}

}  // namespace

std::string reliability_section(const ReportData& data) {
  if (!data.crowd.has_truth) return "";
  const std::vector<char> covered(data.crowd.truth_covers.begin(), data.crowd.truth_covers.end());
  const bool classes = data.crowd.classes.size() > 1;
  std::string rows, charts;
  for (const MethodLabels& m : data.methods) {
    if (m.targets.existence.empty()) continue;  // a score is no probability
    const TargetCalibration c = calibrate_targets(m.targets, data.crowd, 0.5, kBins, covered, kErrorResamples);
    SvgChart chart;
    chart.title = m.name;
    chart.x_label = "probability said";
    chart.y_label = "share that is so";
    chart.y_range = {0.0, 1.0};
    chart.lines = {{"as it should be", {0, 1}, {0, 1}},
                   line_of("an object is there", c.existence),
                   line_of("and the box in place", c.located)};
    rows += row(m.name, "an object is there", c.existence) + row(m.name, "and the box in place", c.located);
    if (classes) {
      chart.lines.push_back(line_of("its class", c.classes));
      rows += row(m.name, "its class", c.classes);
    }
    charts += "<div class=\"card\">" + svg_lines(chart) + "</div>";
  }
  if (rows.empty()) return "";
  return "<section id=\"reliability\"><h2>Can the probabilities be believed?</h2><p>Of the objects that a method calls "
         "80 % certain, 80 % should be there. Lines below the straight one: too sure; above it: too modest. "
         "&ldquo;There&rdquo; means that a true box overlaps the consensus by half. Probabilities that fewer than " +
         std::to_string(kLeastInBin) + " objects have are left out of the picture.</p><div class=\"cards\">" + charts +
         "</div><div class=\"scroll\"><table class=\"small\"><thead><tr><th scope=\"col\">method</th><th "
         "scope=\"col\">probability that</th><th scope=\"col\" class=\"n\">objects</th><th scope=\"col\" "
         "class=\"n\">off by, %</th><th scope=\"col\" class=\"n\">90 % interval</th></tr></thead><tbody>" +
         rows + "</tbody></table></div></section>";
}

}  // namespace bdc::host
