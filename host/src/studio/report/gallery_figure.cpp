#include "studio/report/gallery_figure.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "bdc/base/text.h"
#include "studio/report/gallery_panel.h"
#include "studio/report/html.h"

namespace bdc::host {
namespace {

constexpr std::size_t kMostBoxes = 300, kMostNames = 24;

std::string name_of(const CrowdData& crowd, std::int32_t k) {
  const AnnotatorRecord& a = crowd.annotators[static_cast<std::size_t>(k)];
  return a.name.empty() ? a.id.text : a.name;
}

const std::string& class_of(const CrowdData& crowd, std::int32_t label) {
  return crowd.classes[static_cast<std::size_t>(label)].name;
}

/// An annotator's own look in every figure: a hue by the golden ratio, away from the truth's green (110 to 190
/// degrees), and one of six dashes, so that neighbours in hue, 5, 8 or 13 annotators apart, differ in these.
std::string look_of(std::int32_t k) {
  return "class=\"a d" + std::to_string(k % 6) + "\" style=\"--h:" + std::to_string(annotator_hue(k)) + "\"";
}

/// The annotations of image i inside a region.
std::vector<std::size_t> boxes_in(const CrowdData& crowd, std::size_t i, const Box& region) {
  std::vector<std::size_t> out;
  for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
    const Box& b = crowd.annotations[n].box;
    if (b.valid() && intersection(b, region) > 0) out.push_back(n);
  }
  return out;
}

/// All of these annotations or, of very many, the first few of every annotator.
std::vector<std::size_t> few_of(const CrowdData& crowd, const std::vector<std::size_t>& annotations) {
  if (annotations.size() <= kMostBoxes) return annotations;
  std::vector<std::pair<std::size_t, std::size_t>> order;  // which one of its annotator, annotation
  std::map<std::int32_t, std::size_t> count;
  for (const std::size_t n : annotations) order.emplace_back(count[crowd.annotations[n].annotator]++, n);
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> out;
  for (std::size_t n = 0; n < kMostBoxes; ++n) out.push_back(order[n].second);
  return out;
}

std::string annotators_panel(const CrowdData& crowd, const std::vector<std::size_t>& drawn, const View& view,
                             const std::string& picture, const std::string& image) {
  Panel panel("annotators", "Boxes of the annotators on " + image, view, picture);
  for (const std::size_t n : drawn) {
    const Annotation& a = crowd.annotations[n];
    panel.box(a.box, look_of(a.annotator), name_of(crowd, a.annotator) + ": " + class_of(crowd, a.label));
  }
  return panel.html();
}

std::string method_panel(const CrowdData& crowd, const MethodLabels& method, std::size_t i, const View& view,
                         const std::string& picture, const std::string& image) {
  const Targets& t = method.targets;
  std::vector<std::size_t> order(t.begin[i + 1] - t.begin[i]);
  std::iota(order.begin(), order.end(), t.begin[i]);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sureness(t, a) > sureness(t, b); });
  if (order.size() > kMostBoxes) order.resize(kMostBoxes);
  Panel panel(method.name, "Consensus of " + method.name + " on " + image, view, picture);
  for (const std::size_t n : order) {
    const double sure = sureness(t, n);
    if (sure < kLeastSure) break;
    const auto label = static_cast<std::size_t>(t.label(n));
    const std::string& name = crowd.classes[label].name;
    panel.box(t.box[n], "class=\"c\" stroke-opacity=\"" + brief(0.25 + 0.75 * sure, 2) + "\"",
              name + " " + brief(t.class_prob(n, label), 2) + (t.existence.empty() ? ", weight " : ", existence ") +
                  brief(sure, 2),
              crowd.classes.size() > 1 ? name : "", in_column(sure, 2));
  }
  return panel.html();
}

std::string truth_panel(const CrowdData& crowd, std::size_t i, const View& view, const std::string& picture,
                        const std::string& image) {
  Panel panel("truth", "True boxes of " + image, view, picture);
  for (std::size_t n = crowd.truth_begin[i]; n < crowd.truth_begin[i + 1]; ++n) {
    const std::string& name = class_of(crowd, crowd.truth[n].label);
    panel.box(crowd.truth[n].box, "class=\"t\"", name, crowd.classes.size() > 1 ? name : "");
  }
  return panel.html();
}

/// Where the view lies in the image: a small outline with the boxes of the annotators.
std::string outline(const CrowdData& crowd, std::size_t i, const View& view) {
  const auto rectangle = [](const char* kind, const Box& b) {
    return std::string("<rect class=\"") + kind + "\" x=\"" + coordinate(b.x1) + "\" y=\"" + coordinate(b.y1) +
           "\" width=\"" + coordinate(b.width()) + "\" height=\"" + coordinate(b.height()) + "\"/>";
  };
  const Box all{0, 0, view.width, view.height};
  std::string out = "<svg class=\"map\" role=\"img\" aria-label=\"where the cut-out lies\" viewBox=\"0 0 " +
                    coordinate(view.width) + " " + coordinate(view.height) + "\">" + rectangle("paper", all) +
                    rectangle("here", view.region);
  for (const std::size_t n : few_of(crowd, boxes_in(crowd, i, all))) out += rectangle("dot", crowd.annotations[n].box);
  return out + "</svg>";
}

std::string size_text(double width, double height) {
  return brief(std::round(width), 3) + " × " + brief(std::round(height), 3);
}

/// What the figure leaves out of the image: places, boxes. inside: boxes of annotators in the view.
std::string left_out(const ReportData& data, std::size_t i, const View& view, std::size_t inside) {
  std::string out;
  if (view.width <= 0) {
    out = "; the image's size is not known: the background ends just beyond the boxes";
  } else if (!view.whole()) {
    out = "; shown: " + size_text(view.region.width(), view.region.height()) + " of its " +
          size_text(view.width, view.height) + " pixels";
  }
  const std::size_t boxes = data.crowd.annotation_begin[i + 1] - data.crowd.annotation_begin[i];
  if (inside < boxes) {
    out += "; the most disputed place, " + counted(boxes - inside, "box lies", "boxes lie") + " elsewhere";
  }
  if (inside > kMostBoxes) {
    out += "; " + std::to_string(kMostBoxes) + " boxes are drawn, spread evenly over the annotators";
  }
  for (const MethodLabels& m : data.methods) {
    if (m.targets.begin[i + 1] - m.targets.begin[i] <= kMostBoxes) continue;
    return out + "; of each method, the " + std::to_string(kMostBoxes) + " most certain";
  }
  return out;
}

std::string legend(const CrowdData& crowd, const std::set<std::int32_t>& drawers) {
  std::string out = "<p class=\"legend\">";
  std::size_t named = 0;
  for (const std::int32_t k : drawers) {
    if (named++ == kMostNames) {
      out += "and " + std::to_string(drawers.size() - kMostNames) + " more";
      break;
    }
    out += "<span title=\"" + escape_html(name_of(crowd, k)) +
           "\"><svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 24 12\"><path " + look_of(k) +
           " d=\"M0 6H24\"/></svg>" + isolated(name_of(crowd, k)) + "</span> ";
  }
  return out + "</p>";
}

}  // namespace

int annotator_hue(std::int32_t k) {
  return static_cast<int>(190 + 280 * std::fmod(k * 0.6180339887, 1.0)) % 360;
}

std::string gallery_figure(const ReportData& data, std::size_t i, double disagreement, std::size_t number) {
  const CrowdData& crowd = data.crowd;
  const ImageRecord& record = crowd.images[i];
  const bool sized = record.width > 0 && record.height > 0;
  const Pictures::Size size =
      sized           ? Pictures::Size{static_cast<double>(record.width), static_cast<double>(record.height)}
      : data.pictures ? data.pictures->size(i).value_or(Pictures::Size{})
                      : Pictures::Size{};
  const View view = view_of(data, i, size.width, size.height);
  const std::string id = "pic" + std::to_string(number), stored = stored_picture(data.pictures.get(), i, view, id),
                    picture = stored.empty() ? "" : "<use href=\"#" + id + "\"/>",
                    image = record.file.empty() ? record.id.text : record.file;

  const auto inside = boxes_in(crowd, i, view.region);
  const std::size_t boxes = crowd.annotation_begin[i + 1] - crowd.annotation_begin[i],
                    lookers = crowd.assignment_begin[i + 1] - crowd.assignment_begin[i];
  std::set<std::int32_t> drawers;
  for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
    drawers.insert(crowd.annotations[n].annotator);
  }
  std::string panels = annotators_panel(crowd, few_of(crowd, inside), view, picture, image);
  for (const MethodLabels& m : data.methods) panels += method_panel(crowd, m, i, view, picture, image);
  if (crowd.has_truth && crowd.truth_covers[i]) panels += truth_panel(crowd, i, view, picture, image);

  return "<figure>" + stored + "<figcaption>" + (view.width > 0 && !view.whole() ? outline(crowd, i, view) : "") +
         "<b>" + isolated(image) + "</b> disagreement " + in_column(disagreement, 2) + ", " +
         counted(boxes, "box", "boxes") + " by " + std::to_string(drawers.size()) + " of the " +
         counted(lookers, "annotator", "annotators") + " who saw it" + left_out(data, i, view, inside.size()) +
         "</figcaption><div class=\"panels\" style=\"--least:" + brief(std::round(0.85 * view.pixels())) + "px\">" +
         panels + "</div>" + legend(crowd, drawers) + "</figure>";
}

}  // namespace bdc::host
