#include "studio/report/page.h"

#include <cmath>
#include <tuple>
#include <vector>

#include "bdc/metrics/agreement.h"
#include "studio/report/assets.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"

namespace bdc::host {
namespace {

std::string tile(const std::string& value, const std::string& name) {
  return "<div><b>" + value + "</b><span>" + name + "</span></div>";
}

std::string tiles(const ReportData& data, const ReportSettings& settings) {
  if (data.crowd.images.empty()) return "";
  const CrowdData& crowd = data.crowd;
  std::string out = "<div class=\"tiles\">" + tile(std::to_string(crowd.images.size()), "images") +
                    tile(std::to_string(crowd.classes.size()), crowd.classes.size() == 1 ? "class" : "classes");
  if (!crowd.annotators.empty()) {
    out += tile(std::to_string(crowd.annotators.size()), "annotators") +
           tile(std::to_string(crowd.annotations.size()), "boxes drawn") +
           tile(std::to_string(crowd.assignments.size()), "assignments");
  }
  if (crowd.annotators.size() > 1) {
    const Agreement agreement = measure_agreement(crowd, nullptr, 0.45, 0.5, settings.threads);
    if (std::isfinite(agreement.class_alpha))
      out += tile(brief(agreement.class_alpha, 2), "agreement on classes (alpha)");
    if (std::isfinite(agreement.mean_pairwise_iou)) {
      out += tile(brief(agreement.mean_pairwise_iou, 2), "mean IoU of boxes on the same object");
    }
  }
  return out + "</div>";
}

/// What sections look at.
using PageInputs = std::tuple<const ReportData&, const AnnotatorClusters&, const ReportSettings&>;

/// Calls a section with the inputs that it takes.
template <class... Inputs>
std::string rendered(std::string (*section)(Inputs...), const PageInputs& inputs) {
  return section(std::get<Inputs>(inputs)...);
}

}  // namespace

std::string report_head() {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"generator\" content=\"bdc-host "
         "report\">";
}

std::string render_report(const ReportData& data, const ReportSettings& settings) {
  AnnotatorClusters clusters;
  if (data.posteriors) clusters = cluster_annotators(*data.posteriors, settings.clusters);
  struct Part {
    const char *id, *name;
    std::string html;
  };
  const PageInputs inputs{data, clusters, settings};
#define BDC_PART(name, anchor, link, ...) {anchor, link, rendered(name##_section, inputs)},
  const std::vector<Part> parts{BDC_REPORT_SECTIONS(BDC_PART)};
#undef BDC_PART
  std::string body, links;
  for (const Part& part : parts) {
    if (part.html.empty()) continue;
    links += std::string("<a href=\"#") + part.id + "\">" + part.name + "</a> ";
    body += part.html;
  }
  std::string notes;
  for (const std::string& note : data.notes) notes += "<p class=\"note\">" + escape_html(note) + "</p>";
  return report_head() +
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
         "'unsafe-inline'; script-src 'unsafe-inline'\">"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>" +
         escape_html(data.title) + "</title><style>" + kReportStyle + "</style></head>\n<body><header><h1>" +
         isolated(data.title) +
         "</h1><button id=\"theme\" class=\"js\" type=\"button\">Dark / light</button></header><p class=\"source\">" +
         isolated(data.source) + "</p><nav aria-label=\"Parts of the report\">" + links + "</nav>" +
         tiles(data, settings) + notes + body + "<script type=\"application/json\" id=\"data\">" +
         json_for_script(script_data(data, clusters)) + "</script>\n<script>" + kReportScript +
         "</script></body></html>\n";
}

}  // namespace bdc::host
