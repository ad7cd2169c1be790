#include <algorithm>
#include <numeric>

#include "bdc/metrics/disagreement.h"
#include "studio/report/gallery_figure.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"

namespace bdc::host {
namespace {

/// Disagreement times boxes per annotator who looked: how much of their drawing is in dispute.
std::vector<double> disputed(const CrowdData& crowd, const std::vector<double>& disagreement) {
  std::vector<double> out(disagreement.size(), 0.0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto lookers = static_cast<double>(crowd.assignment_begin[i + 1] - crowd.assignment_begin[i]);
    const auto boxes = static_cast<double>(crowd.annotation_begin[i + 1] - crowd.annotation_begin[i]);
    if (lookers > 0) out[i] = disagreement[i] * boxes / lookers;
  }
  return out;
}

}  // namespace

std::string gallery_section(const ReportData& data, const ReportSettings& settings) {
  if (data.crowd.annotations.empty() || data.crowd.annotators.size() < 2 || settings.gallery == 0) return "";
  data.tell("drawing the gallery");
  const auto disagreement = image_disagreement(data.crowd, 0.45, settings.threads);
  const auto weight = disputed(data.crowd, disagreement);
  std::vector<std::size_t> order(weight.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
  std::string figures;
  std::size_t shown = 0;
  for (const std::size_t i : order) {
    if (shown == settings.gallery || !(weight[i] > 0)) break;
    figures += gallery_figure(data, i, disagreement[i], shown++);
  }
  if (shown == 0) return "";
  const double mean =
      std::accumulate(disagreement.begin(), disagreement.end(), 0.0) / static_cast<double>(order.size());
  const std::string which = order.size() == 1 ? "The image."
                            : shown == order.size()
                                ? "All " + std::to_string(shown) + " images, the most disputed first."
                                : "The " + (shown == 1 ? "most disputed" : std::to_string(shown) + " most disputed") +
                                      " of " + std::to_string(order.size()) + " images.";
  return "<section id=\"gallery\"><h2>Where annotators disagree</h2><p>" + which +
         " They are ranked by disagreement × boxes per annotator who saw the image, so a crowded scene comes before a "
         "lone box. Disagreement is 0 when everyone drew the same boxes and classes, 1 when no two annotators drew a "
         "common object; its mean over all images is " +
         brief(mean, 2) +
         ". Numbers on a method's boxes: how sure it is that the object is there; paler boxes are less certain. An "
         "annotator has the same colour and dashes in every image.<span class=\"js\"> Click a picture, or press Enter "
         "on it, to enlarge it; point at a box to see what it is.</span></p>" +
         figures + "</section>";
}

}  // namespace bdc::host
