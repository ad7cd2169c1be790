#include <algorithm>
#include <cmath>

#include "bdc/metrics/aggregation_ap.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"

namespace bdc::host {

std::string methods_section(const ReportData& data) {
  if (data.methods.empty()) return "";
  const bool judged = data.crowd.has_truth;
  data.tell("evaluating labels");
  std::string out =
      "<section id=\"methods\"><h2>The labels</h2><div class=\"scroll\"><table class=\"small\"><thead><tr>"
      "<th scope=\"col\">method</th>";
  std::vector<const char*> columns = {"targets", "expected objects"};
  if (judged) columns.insert(columns.end(), {"AP50", "AP75", "AP"});
  for (const char* name : columns) out += std::string("<th scope=\"col\" class=\"n\">") + name + "</th>";
  out += "</tr></thead><tbody>";
  for (const MethodLabels& m : data.methods) {
    // Without existence there is no such number: a weight is no probability.
    const bool knows = !m.targets.existence.empty() || m.targets.box.empty();
    double expected = knows ? 0 : std::nan("");
    for (const double e : m.targets.existence) expected += std::clamp(e, 0.0, 1.0);
    out += "<tr><td>" + isolated(m.name) + "</td><td class=\"n\">" + std::to_string(m.targets.box.size()) +
           "</td><td class=\"n\">" + in_column(expected, 1) + "</td>";
    if (judged) {
      const std::vector<char> covered(data.crowd.truth_covers.begin(), data.crowd.truth_covers.end());
      const CocoEvalResult result = evaluate_targets(m.targets, data.crowd, {}, covered);
      for (const std::size_t stat : {1U, 2U, 0U}) {
        out += "<td class=\"n\">" + (result.stats[stat] < 0 ? "–" : in_column(100 * result.stats[stat], 1)) + "</td>";
      }
    }
    out += "</tr>";
  }
  out += "</tbody></table></div>";
  if (judged) {
    out +=
        "<p class=\"note\">AP in % against the true boxes, which are used for evaluation only: no label was made with "
        "them.</p>";
  }
  return out + "</section>";
}

}  // namespace bdc::host
