#include "cli/verbs/annotator_table.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/learn/annotator_clusters.h"
#include "bdc/learn/learners.h"

namespace bdc::host {
namespace {

std::string who(const AnnotatorEvidence& annotator) {
  return printable(annotator.name.empty() ? annotator.id.text : annotator.name, 40);
}

bool has_box_errors(const AnnotatorPosteriors& posteriors) {
  return learner_traits(posteriors.profile).knows_boxes;
}

}  // namespace

std::vector<std::size_t> annotators_by_quality(const AnnotatorPosteriors& posteriors) {
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t k = 0; k < posteriors.annotators.size(); ++k) {
    if (posteriors.annotators[k].images > 0) ranked.emplace_back(-annotator_quality(posteriors, k), k);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::size_t> out;
  for (const auto& [quality, k] : ranked) out.push_back(k);
  return out;
}

void print_annotators(std::ostream& out, const AnnotatorPosteriors& posteriors, std::size_t ends) {
  const auto order = annotators_by_quality(posteriors);
  Table table({"annotator", "images", "boxes", "quality", "recall", "spurious/image", "class accuracy", "box noise"});
  for (std::size_t c = 1; c < 8; ++c) table.align_right(c);
  const auto row = [&](std::size_t k) {
    const auto& a = posteriors.annotators[k];
    const double noise = box_noise(posteriors, k);
    const auto known = [&](double value) { return posteriors.has_existence ? fixed(value, 3) : std::string("-"); };
    table.add({who(a), fixed(a.images, 0), fixed(a.annotations, 0), fixed(annotator_quality(posteriors, k), 3),
               known(posteriors.mean_recall(k)), known(posteriors.mean_spurious_per_image(k)),
               fixed(posteriors.accuracy(k), 3), has_box_errors(posteriors) ? fixed(noise, 3) : "-"});
  };
  const bool all = ends == 0 || order.size() <= 2 * ends + 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (all || i < ends || i + ends >= order.size()) row(order[i]);
    if (!all && i == ends) {
      table.add({"... " + std::to_string(order.size() - 2 * ends) + " more", "", "", "", "", "", "", ""});
    }
  }
  table.print(out);
  const auto silent = posteriors.annotators.size() - order.size();
  if (silent > 0) out << silent << (silent == 1 ? " annotator" : " annotators") << " saw no image\n";
}

void print_simulated(std::ostream& out, const AnnotatorPosteriors& posteriors,
                     const std::vector<SimulatedAnnotator>& truth) {
  Table table({"annotator", "recall", "spurious/image", "class accuracy", "box noise"});
  for (std::size_t c = 1; c < 5; ++c) table.align_right(c);
  const auto pair = [](double learnt, double is) { return fixed(learnt, 2) + " (" + fixed(is, 2) + ")"; };
  for (std::size_t k = 0; k < std::min(truth.size(), posteriors.annotators.size()); ++k) {
    const SimulatedAnnotator& t = truth[k];
    // An edge moves with the centre and with half the size.
    const double noise = std::hypot((t.noise[0] + t.noise[1]) / 2, (t.noise[2] + t.noise[3]) / 4);
    table.add({t.name, posteriors.has_existence ? pair(posteriors.mean_recall(k), t.recall) : "-",
               posteriors.has_existence ? pair(posteriors.mean_spurious_per_image(k), t.spurious_rate) : "-",
               pair(posteriors.accuracy(k), t.class_accuracy),
               has_box_errors(posteriors) ? pair(box_noise(posteriors, k), noise) : "-"});
  }
  table.print(out);
}

}  // namespace bdc::host
