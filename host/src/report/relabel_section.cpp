#include <algorithm>
#include <cmath>

#include "bdc/core/io/json_stream.h"
#include "report/html.h"
#include "report/sections.h"

namespace bdc::host {
namespace {

constexpr std::size_t kRowsInLink = 5000;

NextAnnotator next_annotator(const ReportData& data) {
  return data.posteriors ? median_annotator(*data.posteriors) : NextAnnotator{};
}

double existence_of(const Targets& targets, std::size_t n) {
  return std::clamp(targets.existence.empty() ? targets.weight[n] : targets.existence[n], 0.0, 1.0);
}

/// Annotators with a box that overlaps the target by half.
std::size_t drawers(const CrowdData& crowd, const Targets& targets, const RelabelItem& item) {
  std::vector<std::int32_t> who;
  const auto i = static_cast<std::size_t>(item.image);
  for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
    if (iou(crowd.annotations[n].box, targets.box[item.target]) >= 0.5) who.push_back(crowd.annotations[n].annotator);
  }
  std::sort(who.begin(), who.end());
  return static_cast<std::size_t>(std::unique(who.begin(), who.end()) - who.begin());
}

std::string rounded(double v, int decimals) {
  const double factor = std::pow(10.0, decimals);
  return shortest_decimal(std::round(v * factor) / factor);
}

std::string csv_of(const ReportData& data, const std::vector<RelabelItem>& items, std::size_t rows) {
  const CrowdData& crowd = data.crowd;
  const Targets& targets = data.methods[0].targets;
  std::string out =
      "rank,expected_gain,image_id,file_name,left,top,width,height,class,class_probability,existence,drawn_by,seen_"
      "by\n";
  for (std::size_t r = 0; r < std::min(rows, items.size()); ++r) {
    const RelabelItem& item = items[r];
    const auto i = static_cast<std::size_t>(item.image);
    const Box& b = targets.box[item.target];
    const auto label = static_cast<std::size_t>(targets.label(item.target));
    out += std::to_string(r + 1) + "," + rounded(item.gain, 5) + "," + csv_text(crowd.images[i].id.text) + "," +
           csv_text(crowd.images[i].file) + "," + rounded(b.x1, 2) + "," + rounded(b.y1, 2) + "," +
           rounded(b.width(), 2) + "," + rounded(b.height(), 2) + "," + csv_text(crowd.classes[label].name) + "," +
           rounded(targets.class_prob(item.target, label), 4) + "," + rounded(existence_of(targets, item.target), 4) +
           "," + std::to_string(drawers(crowd, targets, item)) + "," +
           std::to_string(crowd.assignment_begin[i + 1] - crowd.assignment_begin[i]) + "\n";
  }
  return out;
}

}  // namespace

std::string relabel_csv(const ReportData& data, std::size_t rows) {
  if (data.methods.empty()) return csv_of(data, {}, 0);
  return csv_of(data, relabelling_order(data.methods[0].targets, next_annotator(data)), rows);
}

std::string relabel_section(const ReportData& data, const ReportSettings& settings) {
  if (data.methods.empty() || data.methods[0].targets.box.empty()) return "";
  const CrowdData& crowd = data.crowd;
  const Targets& targets = data.methods[0].targets;
  const NextAnnotator next = next_annotator(data);
  const auto items = relabelling_order(targets, next);
  double total = 0;
  for (const RelabelItem& item : items) total += item.gain;
  std::string out =
      "<section id=\"relabel\"><h2>Worth another look</h2><p>How much more would be right, on average, if the median "
      "annotator of this crowd (recall " +
      brief(next.recall, 2) + ", class accuracy " + brief(next.accuracy, 2) + ", box σ " + brief(next.box_noise, 2) +
      ") looked once more at the place: the expected gain, in right labels per look, by the consensus of " +
      isolated(data.methods[0].name) + ". One look at each of the " + std::to_string(items.size()) +
      " candidates would gain " + brief(total, 3) + ".</p><p><a download=\"relabel.csv\" href=\"data:text/csv;base64," +
      base64(csv_of(data, items, kRowsInLink)) + "\">Save as CSV</a>" +
      (items.size() > kRowsInLink ? " (the first " + std::to_string(kRowsInLink) + ")" : std::string()) +
      "</p><div class=\"scroll\"><table id=\"relabel-table\"><thead><tr><th class=\"n\">rank</th>"
      "<th class=\"n\">expected gain</th><th>image</th><th>class</th><th class=\"n\">class probability</th>"
      "<th class=\"n\">existence</th><th class=\"n\">drawn by</th><th class=\"n\">seen "
      "by</th><th>box</th></tr></thead><tbody>";
  for (std::size_t r = 0; r < std::min(settings.relabel_rows, items.size()); ++r) {
    const RelabelItem& item = items[r];
    const auto i = static_cast<std::size_t>(item.image);
    const auto label = static_cast<std::size_t>(targets.label(item.target));
    const Box& b = targets.box[item.target];
    const auto cell = [](const std::string& text) { return "<td class=\"n\">" + text + "</td>"; };
    out += "<tr>" + cell(std::to_string(r + 1)) + cell(brief(item.gain, 3)) + "<td>" +
           isolated(crowd.images[i].file.empty() ? crowd.images[i].id.text : crowd.images[i].file) + "</td><td>" +
           isolated(crowd.classes[label].name) + "</td>" + cell(brief(targets.class_prob(item.target, label), 3)) +
           cell(brief(existence_of(targets, item.target), 3)) + cell(std::to_string(drawers(crowd, targets, item))) +
           cell(std::to_string(crowd.assignment_begin[i + 1] - crowd.assignment_begin[i])) + "<td>" +
           brief(std::round(b.x1), 6) + ", " + brief(std::round(b.y1), 6) + ", " + brief(std::round(b.width()), 6) +
           " × " + brief(std::round(b.height()), 6) + "</td></tr>";
  }
  return out + "</tbody></table></div></section>";
}

}  // namespace bdc::host
