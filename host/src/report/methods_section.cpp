#include <algorithm>

#include "bdc/core/metrics/aggregation_ap.h"
#include "report/html.h"
#include "report/sections.h"

namespace bdc::host {

std::string methods_section(const ReportData& data) {
  if (data.methods.empty()) return "";
  const bool judged = data.crowd.has_truth;
  std::string out =
      "<section id=\"methods\"><h2>The labels</h2><table class=\"small\"><thead><tr><th>method</th>"
      "<th class=\"n\">targets</th><th class=\"n\">expected objects</th>";
  if (judged) out += "<th class=\"n\">AP50</th><th class=\"n\">AP75</th><th class=\"n\">AP</th>";
  out += "</tr></thead><tbody>";
  for (const MethodLabels& m : data.methods) {
    double expected = 0;
    for (const double w : m.targets.existence.empty() ? m.targets.weight : m.targets.existence) {
      expected += std::clamp(w, 0.0, 1.0);
    }
    out += "<tr><td>" + isolated(m.name) + "</td><td class=\"n\">" + std::to_string(m.targets.box.size()) +
           "</td><td class=\"n\">" + brief(expected, 5) + "</td>";
    if (judged) {
      const std::vector<char> covered(data.crowd.truth_covers.begin(), data.crowd.truth_covers.end());
      const CocoEvalResult result = evaluate_targets(m.targets, data.crowd, {}, covered);
      for (const std::size_t stat : {1U, 2U, 0U}) {
        out += "<td class=\"n\">" + (result.stats[stat] < 0 ? "–" : brief(100 * result.stats[stat], 3)) + "</td>";
      }
    }
    out += "</tr>";
  }
  out += "</tbody></table>";
  if (judged) out += "<p class=\"note\">AP in % against the true boxes, which nothing but this report has seen.</p>";
  return out + "</section>";
}

}  // namespace bdc::host
