#include <algorithm>
#include <cmath>

#include "bdc/base/text.h"
#include "bdc/learn/annotator_figures.h"
#include "bdc/learn/learners.h"
#include "bdc/metrics/correlation.h"
#include "bdc/metrics/measured_annotators.h"
#include "studio/report/html.h"
#include "studio/report/sections.h"
#include "studio/report/svg_chart.h"

namespace bdc::host {
namespace {

constexpr std::size_t kMostRows = 5000;
constexpr double kFewBoxes = 10;  // fewer say hardly anything of an annotator
constexpr double kTied = 0.3;     // IoU from which a box counts as that of a true object

struct Column {
  std::string name, hint;
};

std::vector<Column> columns_of(const AnnotatorPosteriors& p, bool measured) {
  const BoxErrorNames box = box_error_names(p.profile);
  const bool classes = p.tells_classes();
  std::vector<Column> out = {{"images", "images seen"}, {"boxes", "boxes drawn"}};
  out.push_back({"quality", classes ? "recall × class accuracy / (1 + spurious boxes per image)"
                                    : "recall / (1 + spurious boxes per image)"});
  if (p.tells_recall()) {
    out.push_back({"recall", "share of the objects shown to them that they drew in place"});
    out.push_back({"spurious", "boxes where nothing is, per image in which anybody drew something"});
  }
  if (classes) out.push_back({"accuracy", "probability that the class is right, over the classes shown to them"});
  if (p.tells_boxes()) {
    for (std::size_t i = 0; i < 4; ++i) out.push_back({box.heading[i], "mean box error, " + box.unit[i]});
    const std::string unit = box.unit[0] == box.unit[2] ? box.unit[0] : "over position and size";
    out.push_back({"box σ", "typical deviation of a box coordinate, bias taken out, " + unit});
  }
  if (measured) {
    const std::string how = "a box with an IoU of " + brief(kTied) + " or more with a true object counts as its";
    out.push_back({"true objects", "true objects in the images seen"});
    out.push_back({"true recall", "share of the true objects that were drawn; " + how});
    if (classes) out.push_back({"true accuracy", "share of the objects drawn that got the true class; " + how});
    out.push_back({"true σ", "deviation of an edge from the true one, in box sizes; " + how});
  }
  return out;
}

/// A figure's cell has its interval below, or "not known" where the labels do not tell.
std::string cell(double value, int decimals) {
  return "<td class=\"n\">" + in_column(value, decimals) + "</td>";
}

std::string cell(const Figure& f, int decimals) {
  if (!f.determined) return "<td class=\"n note\">not known</td>";
  return "<td class=\"n\">" + in_column(f.mean, decimals) + "<small>" + in_column(f.low, decimals) + " – " +
         in_column(f.high, decimals) + "</small></td>";
}

std::string cells_of(const AnnotatorPosteriors& p, std::size_t k, const MeasuredAnnotator* measured) {
  std::string out = cell(std::round(p.annotators[k].images), 0) + cell(std::round(p.annotators[k].annotations), 0) +
                    cell(quality_figure(p, k), 2);
  if (p.tells_recall()) out += cell(recall_figure(p, k), 2) + cell(spurious_figure(p, k), 2);
  if (p.tells_classes()) out += cell(accuracy_figure(p, k), 2);
  if (p.tells_boxes()) {
    for (const Figure& bias : bias_figures(p, k)) out += cell(bias, 3);
    out += cell(box_noise_figure(p, k), 3);
  }
  if (measured != nullptr) {
    const double unknown = std::nan("");
    out += cell(static_cast<double>(measured->objects), 0);
    out += cell(measured->objects > 0 ? measured->recall() : unknown, 2);
    if (p.tells_classes()) out += cell(measured->found > 0 ? measured->accuracy() : unknown, 2);
    out += cell(measured->found > 1 ? measured->box_noise() : unknown, 3);
  }
  return out;
}

/// Annotators who can be measured: shown at least so many true objects, and two of them drawn.
std::vector<std::size_t> measurable(const std::vector<MeasuredAnnotator>& measured,
                                    const std::vector<std::size_t>& shown, std::size_t objects) {
  std::vector<std::size_t> out;
  for (const std::size_t k : shown) {
    if (measured[k].found >= 2 && measured[k].objects >= objects) out.push_back(k);
  }
  return out;
}

/// Learnt against measured, over these annotators.
std::string correlation(const AnnotatorPosteriors& p, const std::vector<MeasuredAnnotator>& measured,
                        const std::vector<std::size_t>& who) {
  std::vector<double> recall[2], accuracy[2], noise[2];
  for (const std::size_t k : who) {
    recall[0].push_back(p.mean_recall(k)), recall[1].push_back(measured[k].recall());
    accuracy[0].push_back(p.accuracy(k)), accuracy[1].push_back(measured[k].accuracy());
    noise[0].push_back(box_noise(p, k)), noise[1].push_back(measured[k].box_noise());
  }
  std::string out;
  const auto add = [&](const std::string& what, const std::vector<double>* pair) {
    out += (out.empty() ? "" : ", ") + what + " " + brief(rank_correlation(pair[0], pair[1]));
  };
  if (p.tells_recall()) add("recall", recall);
  if (p.tells_classes()) add("class accuracy", accuracy);
  if (p.tells_boxes()) add("box σ", noise);
  return out + " over " + counted(who.size(), "annotator");
}

/// Over all, and over those who were shown 20 and 50 objects where they are fewer people and at least five.
std::string correlations(const AnnotatorPosteriors& p, const std::vector<MeasuredAnnotator>& measured,
                         const std::vector<std::size_t>& shown) {
  auto who = measurable(measured, shown, 0);
  std::string out = correlation(p, measured, who);
  for (const std::size_t objects : {20U, 50U}) {
    const auto fewer = measurable(measured, shown, objects);
    if (fewer.size() == who.size() || fewer.size() < 5) continue;
    who = fewer;
    out += "; " + correlation(p, measured, who) + " who were shown at least " + std::to_string(objects) + " objects";
  }
  return out;
}

std::string overview(const AnnotatorPosteriors& p, const std::vector<std::size_t>& order,
                     const AnnotatorClusters& clusters) {
  std::vector<SvgPoint> quality, boxes;
  double most_spurious = 0.1, most_noise = 0.05;
  for (const std::size_t k : order) {
    most_spurious = std::max(most_spurious, p.tells_recall() ? p.mean_spurious_per_image(k) : 0.0);
    most_noise = std::max(most_noise, box_noise(p, k));
  }
  for (const std::size_t k : order) {
    const auto series = static_cast<std::size_t>(std::max(0, clusters.cluster[k]));
    const std::string name = annotator_name(p.annotators[k]);
    if (p.tells_recall()) {
      quality.push_back({p.mean_spurious_per_image(k), p.mean_recall(k), series,
                         name + ": recall " + brief(p.mean_recall(k)) + ", spurious boxes per image " +
                             brief(p.mean_spurious_per_image(k))});
    }
    boxes.push_back({box_noise(p, k), p.accuracy(k), series,
                     name + ": class accuracy " + brief(p.accuracy(k)) + ", box σ " + brief(box_noise(p, k))});
  }
  std::string out = "<div class=\"cards\">";
  if (p.tells_recall()) {
    out += "<div class=\"card\">" +
           svg_points("Who misses, who invents", "spurious boxes per image", "recall", quality,
                      {0, most_spurious * 1.05}, {0, 1}) +
           "</div>";
  }
  if (p.tells_boxes() && p.tells_classes()) {
    out += "<div class=\"card\">" +
           svg_points("Who knows classes, who draws well", "box σ", "class accuracy", boxes, {0, most_noise * 1.05},
                      {0, 1}) +
           "</div>";
  }
  return out + "</div>";
}

/// How many, in which order, learnt by whom, and who is left out. order: those with evidence.
std::string introduction(const ReportData& data, const std::vector<std::size_t>& order,
                         const std::vector<double>& quality) {
  const AnnotatorPosteriors& p = *data.posteriors;
  if (order.empty()) {
    return "Too little is known about " + counted(p.annotators.size(), "annotator") + " to say anything about them.";
  }
  const bool ranked = quality[order.front()] > quality[order.back()];
  std::string out =
      counted(order.size(), "annotator") +
      (ranked || order.size() < 2 ? ", best first" : ", in the order of the labels, as their quality is the same") +
      "; below each figure is the interval that holds it with a probability of 90 %. All of it was learnt without the "
      "truth (profile " +
      isolated(p.profile) + (data.learnt_by.empty() ? "" : ", by " + isolated(data.learnt_by)) + ").";
  if (order.size() < p.annotators.size()) {
    out +=
        " The labels do not tell how good " + std::to_string(p.annotators.size() - order.size()) +
        " more are: nothing was there to find in the images they saw, or nobody to compare them with. They stand last.";
  }
  if (order.size() > kMostRows) out += " The table holds the first " + std::to_string(kMostRows) + ".";
  const auto few =
      std::count_if(order.begin(), order.end(), [&](std::size_t k) { return p.annotators[k].annotations < kFewBoxes; });
  if (few > 0) {
    out += " Grey: hardly any evidence (fewer than " + brief(kFewBoxes) + " boxes); the intervals are wide.";
  }
  return out;
}

}  // namespace

std::string annotator_name(const AnnotatorEvidence& annotator) {
  return annotator.name.empty() ? annotator.id.text : annotator.name;
}

std::string cluster_name(std::size_t g) {
  return g < 26 ? std::string(1, static_cast<char>('A' + g)) : std::to_string(g + 1);
}

BoxErrorNames box_error_names(const std::string& profile) {
  const BoxErrorTraits& error = learner_traits(profile).box_error;
  return {error.name, error.mean_heading, error.unit};
}

std::string annotators_section(const ReportData& data, const AnnotatorClusters& clusters) {
  if (!data.posteriors) return "";
  const AnnotatorPosteriors& p = *data.posteriors;
  std::vector<MeasuredAnnotator> measured;
  if (data.crowd.has_truth && data.crowd.annotators.size() == p.annotators.size()) {
    measured = measure_annotators(data.crowd);
  }
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < p.annotators.size(); ++k) {
    if (clusters.cluster[k] != AnnotatorClusters::none) order.push_back(k);
  }
  std::vector<double> quality(p.annotators.size());
  for (const std::size_t k : order) quality[k] = annotator_quality(p, k);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return quality[a] > quality[b]; });
  data.tell("drawing annotators");
  std::string out = "<section id=\"annotators\"><h2>Annotators</h2><p>" + introduction(data, order, quality) + "</p>";
  if (order.empty()) return out + "</section>";
  const auto shown = order;
  if (order.size() > kMostRows) order.resize(kMostRows);
  out += overview(p, order, clusters);
  if (!measured.empty()) {
    out +=
        "<p class=\"note\">“True” figures are measured over the true objects in the images seen; a box counts for a "
        "true object if their IoU is at least " +
        brief(kTied) +
        ". They differ from the settings of a simulated annotator, who "
        "may draw an object too badly to be counted. Rank correlation of what was learnt with what is measured: " +
        correlations(p, measured, shown) + ".</p>";
  }
  out +=
      "<p class=\"js\"><label>Filter <input id=\"filter\" type=\"search\" placeholder=\"name\"></label> "
      "<span class=\"note\">Click a heading to sort, a row to look at one annotator.</span></p>"
      "<div class=\"scroll\"><table id=\"annotator-table\"><thead><tr><th scope=\"col\">annotator</th><th "
      "scope=\"col\">group</th>";
  const auto columns = columns_of(p, !measured.empty());
  for (const Column& c : columns) {
    out += "<th scope=\"col\" class=\"n\" title=\"" + escape_html(c.hint) + "\">" + escape_html(c.name) + "</th>";
  }
  out += "</tr></thead><tbody>";
  const auto add_row = [&](std::size_t k, const std::string& group, bool grey) {
    out += "<tr data-k=\"" + std::to_string(k) + (grey ? "\" class=\"note" : "") + "\"><td>" +
           isolated(annotator_name(p.annotators[k])) + "</td><td>" + group + "</td>" +
           cells_of(p, k, measured.empty() ? nullptr : &measured[k]) + "</tr>";
  };
  for (const std::size_t k : order) {
    const auto g = static_cast<std::size_t>(clusters.cluster[k]);
    add_row(k, "<span class=\"s" + std::to_string(g % 8) + "\"><i></i>" + cluster_name(g) + "</span>",
            p.annotators[k].annotations < kFewBoxes);
  }
  std::size_t rows = order.size();
  for (std::size_t k = 0; k < p.annotators.size() && rows < kMostRows; ++k) {
    if (clusters.cluster[k] != AnnotatorClusters::none) continue;
    add_row(k, "–", true);
    ++rows;
  }
  out +=
      "</tbody></table></div><div class=\"js\" id=\"one\"><h3>One annotator: <select id=\"who\"></select></h3>"
      "<div class=\"cards\"><div class=\"card\"><h4>Confusion, log scale</h4><canvas id=\"one-confusion\"></canvas>"
      "<p class=\"note\" id=\"one-note\"></p></div><div class=\"card\"><h4>Box errors</h4>"
      "<canvas id=\"one-box\"></canvas><p class=\"note\">Filled: this annotator. Line: the mean of "
      "all.</p></div></div></div>";
  return out + "</section>";
}

}  // namespace bdc::host
