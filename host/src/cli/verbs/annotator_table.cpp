#include "cli/verbs/annotator_table.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <tuple>

#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/learn/annotator_clusters.h"
#include "bdc/learn/annotator_figures.h"
#include "bdc/learn/learners.h"

namespace bdc::host {
namespace {

std::string who(const AnnotatorEvidence& annotator) {
  return printable(annotator.name.empty() ? annotator.id.text : annotator.name, 40);
}

}  // namespace

std::vector<std::size_t> annotators_by_quality(const AnnotatorPosteriors& posteriors) {
  std::vector<std::tuple<bool, double, std::size_t>> ranked;
  for (std::size_t k = 0; k < posteriors.annotators.size(); ++k) {
    if (!(posteriors.annotators[k].images > 0)) continue;
    const Figure quality = quality_figure(posteriors, k);
    ranked.emplace_back(!quality.determined, quality.determined ? -quality.mean : 0.0, k);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::size_t> out;
  for (const auto& entry : ranked) out.push_back(std::get<2>(entry));
  return out;
}

void print_annotators(std::ostream& out, const AnnotatorPosteriors& posteriors, std::size_t ends) {
  const auto order = annotators_by_quality(posteriors);
  std::vector<std::pair<std::string, Figure (*)(const AnnotatorPosteriors&, std::size_t)>> columns;
  columns.emplace_back("quality", quality_figure);
  if (posteriors.tells_recall()) {
    columns.emplace_back("recall", recall_figure);
    columns.emplace_back("spurious/image", spurious_figure);
  }
  if (posteriors.tells_classes()) columns.emplace_back("class accuracy", accuracy_figure);
  if (posteriors.tells_boxes()) columns.emplace_back("box noise", box_noise_figure);
  std::vector<std::string> headings{"annotator", "images", "boxes"};
  for (const auto& column : columns) headings.push_back(column.first);
  Table table(headings);
  for (std::size_t c = 1; c < headings.size(); ++c) table.align_right(c);
  const auto row = [&](std::size_t k) {
    const auto& a = posteriors.annotators[k];
    std::vector<std::string> cells{who(a), fixed(a.images, 0), fixed(a.annotations, 0)};
    for (const auto& column : columns) cells.push_back(figure_text(column.second(posteriors, k)));
    table.add(cells);
  };
  const bool all = ends == 0 || order.size() <= 2 * ends + 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (all || i < ends || i + ends >= order.size()) row(order[i]);
    if (!all && i == ends) {
      std::vector<std::string> cells(headings.size());
      cells[0] = "... " + std::to_string(order.size() - 2 * ends) + " more";
      table.add(cells);
    }
  }
  table.print(out);
  const auto count = [](std::size_t n) { return std::to_string(n) + (n == 1 ? " annotator" : " annotators"); };
  const auto unknown = static_cast<std::size_t>(std::count_if(
      order.begin(), order.end(), [&](std::size_t k) { return !quality_figure(posteriors, k).determined; }));
  if (!order.empty()) out << "in brackets: the interval that holds the figure with a probability of 90 %\n";
  if (unknown > 0) {
    out << "the quality of " << count(unknown)
        << " is not known: the images they saw hold no objects, or nobody else labelled them\n";
  }
  const auto silent = posteriors.annotators.size() - order.size();
  if (silent > 0) out << count(silent) << " saw no image\n";
}

void print_simulated(std::ostream& out, const AnnotatorPosteriors& posteriors,
                     const std::vector<SimulatedAnnotator>& truth) {
  // How often a simulated annotator draws an object is known, not how often in place.
  Table table({"annotator", "objects drawn", "spurious/image", "class accuracy", "box noise"});
  for (std::size_t c = 1; c < 5; ++c) table.align_right(c);
  const auto pair = [](double learnt, double is) { return fixed(learnt, 2) + " (" + fixed(is, 2) + ")"; };
  for (std::size_t k = 0; k < std::min(truth.size(), posteriors.annotators.size()); ++k) {
    const SimulatedAnnotator& t = truth[k];
    // An edge moves with the centre and with half the size.
    const double noise = std::hypot((t.noise[0] + t.noise[1]) / 2, (t.noise[2] + t.noise[3]) / 4);
    table.add({t.name, posteriors.tells_recall() ? pair(posteriors.drawn_share(k), t.recall) : "-",
               posteriors.tells_recall() ? pair(posteriors.mean_spurious_per_image(k), t.spurious_rate) : "-",
               pair(posteriors.accuracy(k), t.class_accuracy),
               posteriors.tells_boxes() ? pair(box_noise(posteriors, k), noise) : "-"});
  }
  table.print(out);
}

}  // namespace bdc::host
