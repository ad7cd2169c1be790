#include <algorithm>

#include "bdc/base/text.h"
#include "bdc/learn/plan/look_plan.h"
#include "studio/plan/plan_files.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"

namespace bdc::host {
namespace {

constexpr const char* kByteOrderMark = "\xEF\xBB\xBF";

std::string cell(const std::string& text) {
  return "<td class=\"n\">" + text + "</td>";
}

std::string people_table(const CrowdData& crowd, const LookPlan& plan) {
  std::vector<double> looks(crowd.annotators.size(), 0.0), gain(looks);
  for (const PlannedLook& look : plan.looks) {
    looks[static_cast<std::size_t>(look.annotator)] += 1;
    gain[static_cast<std::size_t>(look.annotator)] += look.gain;
  }
  std::string out =
      "<div class=\"scroll\"><table id=\"plan-people\"><thead><tr><th scope=\"col\">annotator</th><th scope=\"col\" "
      "class=\"n\">looks</th><th scope=\"col\" class=\"n\">expected gain</th></tr></thead><tbody>";
  for (std::size_t k = 0; k < looks.size(); ++k) {
    if (looks[k] == 0) continue;
    out += "<tr><td>" + isolated(title_of(crowd.annotators[k])) + "</td>" + cell(brief(looks[k], 6)) +
           cell(in_column(gain[k], 2)) + "</tr>";
  }
  return out + "</tbody></table></div>";
}

std::string looks_table(const CrowdData& crowd, const LookPlan& plan) {
  std::string out =
      "<div class=\"scroll\"><table id=\"plan-table\"><thead><tr><th scope=\"col\" class=\"n\">rank</th><th "
      "scope=\"col\">image</th><th scope=\"col\">annotator</th><th scope=\"col\" class=\"n\">expected gain</th><th "
      "scope=\"col\" class=\"n\">of unseen objects</th><th scope=\"col\" class=\"n\">seen by</th></tr></thead><tbody>";
  for (std::size_t n = 0; n < plan.looks.size(); ++n) {
    const PlannedLook& look = plan.looks[n];
    const auto i = static_cast<std::size_t>(look.image);
    out += "<tr>" + cell(std::to_string(n + 1)) + "<td>" + isolated(title_of(crowd.images[i])) + "</td><td>" +
           isolated(title_of(crowd.annotators[static_cast<std::size_t>(look.annotator)])) + "</td>" +
           cell(in_column(look.gain, 4)) + cell(in_column(look.unseen, 4)) + cell(std::to_string(lookers(crowd, i))) +
           "</tr>";
  }
  return out + "</tbody></table></div>";
}

}  // namespace

std::string plan_section(const ReportData& data, const ReportSettings& settings) {
  if (!data.posteriors || !data.posteriors->tells_recall() ||
      data.posteriors->annotators.size() != data.crowd.annotators.size()) {
    return "";
  }
  const auto chosen = std::find_if(data.methods.begin(), data.methods.end(),
                                   [](const MethodLabels& m) { return !m.targets.existence.empty(); });
  if (chosen == data.methods.end()) return "";
  data.tell("planning who should look at what");
  PlanSettings plan_settings;
  plan_settings.budget = static_cast<double>(settings.planned_looks);
  plan_settings.threads = settings.threads;
  const LookPlan plan = plan_looks(data.crowd, chosen->targets, &*data.posteriors, {}, plan_settings);
  if (plan.looks.empty()) return "";
  double gain = 0, unseen = 0;
  for (const PlannedLook& look : plan.looks) {
    gain += look.gain;
    unseen += look.unseen;
  }
  return "<section id=\"plan\"><h2>Who should look at what next</h2><p>The " + counted(plan.looks.size(), "look") +
         " that would bring most, each by the annotator who would bring most there: together " + brief(gain, 3) +
         " of " + brief(plan.objects, 4) + " objects expected, " + in_column(unseen, 1) +
         " of it from objects that nobody has drawn yet. Everybody is taken to have time and to cost the same; "
         "<code>bdc-host plan --cost</code> knows better, and writes lists for CVAT and Label Studio.</p><p><a "
         "download=\"plan.csv\" href=\"data:text/csv;charset=utf-8;base64," +
         base64(kByteOrderMark + find_plan_format("csv")->text(data.crowd, plan)) + "\">Save as CSV</a></p>" +
         people_table(data.crowd, plan) + "<h3>The looks</h3>" + looks_table(data.crowd, plan) + "</section>";
}

}  // namespace bdc::host
