#include <algorithm>
#include <cmath>
#include <tuple>

#include "bdc/base/text.h"
#include "bdc/learn/learners.h"
#include "studio/report/cluster_summary.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"
#include "studio/report/svg_chart.h"

namespace bdc::host {
namespace {

/// The most frequent wrong classes of a group, as a sentence: what the heat map shows, for those who read text.
std::string common_confusions(const AnnotatorPosteriors& p, const ClusterSummary& s) {
  const std::size_t J = p.classes.size();
  std::vector<std::tuple<double, std::size_t, std::size_t>> wrong;
  for (std::size_t j = 0; j < J; ++j) {
    double met = 0;
    for (std::size_t l = 0; l < J; ++l) met += s.counts[j * J + l];
    for (std::size_t l = 0; l < J; ++l) {
      if (l != j && s.counts[j * J + l] >= 0.5) wrong.emplace_back(-s.counts[j * J + l] / met, j, l);
    }
  }
  if (wrong.empty()) return "no class is mistaken for another";
  const std::size_t shown = std::min<std::size_t>(3, wrong.size());
  std::partial_sort(wrong.begin(), wrong.begin() + static_cast<std::ptrdiff_t>(shown), wrong.end());
  std::string out;
  for (std::size_t n = 0; n < shown; ++n) {
    const auto& [share, truth, given] = wrong[n];
    out += (n > 0 ? ", " : "") + isolated(p.classes[truth].name) + " called " + isolated(p.classes[given].name) + " " +
           brief(-100 * share, 2) + " %";
  }
  return out;
}

std::string gaussians(const AnnotatorPosteriors& p, const std::vector<ClusterSummary>& groups) {
  const BoxErrorNames names = box_error_names(p.profile);
  double low = 1e9, high = -1e9;
  for (const ClusterSummary& s : groups) {
    for (std::size_t i = 0; i < 4; ++i) {
      low = std::min(low, s.box_mean[i] - 2.5 * s.box_deviation[i]);
      high = std::max(high, s.box_mean[i] + 2.5 * s.box_deviation[i]);
    }
  }
  std::string out = "<div class=\"cards four\">";
  for (std::size_t i = 0; i < 4; ++i) {
    SvgChart chart{"Error of " + names.name[i], names.unit[i], "", {}, {}, false, 300, 210};
    for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
      PlotLine line{"group " + cluster_name(g), {}, {}};
      for (int x = 0; x <= 120; ++x) {
        const double at = low + (high - low) * x / 120, z = (at - groups[g].box_mean[i]) / groups[g].box_deviation[i];
        line.x.push_back(at);
        line.y.push_back(std::exp(-z * z / 2) / (groups[g].box_deviation[i] * std::sqrt(2 * 3.14159265358979)));
      }
      chart.lines.push_back(std::move(line));
    }
    out += "<div class=\"card\">" + svg_lines(chart) + "</div>";
  }
  return out + "</div>";
}

/// What the groups were made of, and how many there are.
std::string introduction(const AnnotatorPosteriors& p, const AnnotatorClusters& clusters) {
  std::vector<const char*> made_of;
  if (p.tells_recall()) made_of = {"recall", "spurious rate"};
  if (p.tells_classes()) made_of.push_back("class accuracy");
  if (p.tells_boxes() || made_of.empty()) made_of.push_back("box noise");
  std::string out = "Annotators who are alike, found by k-means on ";
  for (std::size_t n = 0; n < made_of.size(); ++n) {
    out += n == 0 ? "" : n + 1 < made_of.size() ? ", " : " and ";
    out += made_of[n];
  }
  out += " as learnt";
  out += made_of.size() > 1 ? ", each weighted by how reliably it is known. " : ". ";
  if (clusters.asked > clusters.k) {
    out += counted(clusters.asked, "group was", "groups were") +
           " asked for, but these annotators can be told apart into " + std::to_string(clusters.k) + " at most. ";
  }
  if (clusters.k == 1) {
    return out + (clusters.asked == 1   ? "One group was asked for."
                  : clusters.asked == 0 ? "No division stands out, so all are one group."
                                        : "All are one group.");
  }
  return out + "The division into " + std::to_string(clusters.k) + (clusters.asked > 0 ? ", as asked for," : "") +
         " has a mean silhouette of " + brief(clusters.silhouette, 2) + ".";
}

}  // namespace

std::string clusters_section(const ReportData& data, const AnnotatorClusters& clusters) {
  if (!data.posteriors || clusters.k == 0) return "";
  const AnnotatorPosteriors& p = *data.posteriors;
  const auto groups = summarise_clusters(p, clusters);
  data.tell("drawing groups");
  std::string out = "<section id=\"groups\"><h2>Groups of annotators</h2><p>" + introduction(p, clusters) +
                    "</p><div class=\"scroll\"><table><thead><tr><th scope=\"col\">group</th>";
  std::vector<const char*> columns = {"annotators", "images", "boxes", "quality"};
  if (p.tells_recall()) columns.insert(columns.end(), {"recall", "spurious"});
  const bool classes = p.tells_classes();
  if (classes) columns.push_back("accuracy");
  const bool has_boxes = p.tells_boxes();
  if (has_boxes) columns.push_back("box σ");
  for (const char* name : columns) out += std::string("<th scope=\"col\" class=\"n\">") + name + "</th>";
  out += (classes ? "<th scope=\"col\">most common confusions</th>" : "") + std::string("</tr></thead><tbody>");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const ClusterSummary& s = groups[g];
    const bool all = g + 1 == groups.size();
    const auto cell = [](double v, int digits) { return "<td class=\"n\">" + in_column(v, digits) + "</td>"; };
    out += "<tr><td>" +
           (all ? std::string("all")
                : "<span class=\"s" + std::to_string(g % 8) + "\"><i></i>" + cluster_name(g) + "</span>") +
           "</td>" + cell(static_cast<double>(s.annotators), 0) + cell(s.images, 1) + cell(s.boxes, 1) +
           cell(s.quality, 3);
    if (p.tells_recall()) out += cell(s.recall, 3) + cell(s.spurious, 3);
    out += (classes ? cell(s.accuracy, 3) : "") + (has_boxes ? cell(s.noise, 3) : "") +
           (classes ? "<td>" + common_confusions(p, s) + "</td></tr>" : "</tr>");
  }
  out += "</tbody></table></div>";
  if (classes) {
    out += "<h3>Confusion, log scale</h3><div class=\"cards js\">";
    for (std::size_t g = 0; g < clusters.k; ++g) {
      out += "<div class=\"card\"><h4>Group " + cluster_name(g) + "</h4><canvas class=\"confusion\" data-group=\"" +
             std::to_string(g) + "\"></canvas></div>";
    }
    out += "</div>";
  }
  if (has_boxes) out += "<h3>Box errors</h3>" + gaussians(p, groups);
  return out + "</section>";
}

}  // namespace bdc::host
