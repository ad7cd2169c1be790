#pragma once

#include <string>
#include <vector>

#include "bdc/learn/annotator_clusters.h"
#include "studio/report/report_data.h"

/// The sections of the page, in its order. A new one is a file that defines `std::string <name>_section(...)`, which
/// returns HTML, or an empty string when there is nothing to show; and one row here: its name, its anchor in the page,
/// the text of the link to it, and what it looks at, of ReportData, AnnotatorClusters and ReportSettings.
// clang-format off
#define BDC_REPORT_SECTIONS(SECTION)                                                                                    \
  /* the table of an experiment, and charts of how each method does from crowd to crowd */                              \
  SECTION(experiment, "experiment", "Experiment", const ReportData&)                                                    \
  /* loss, AP and lower bound over epochs or rounds, with the numbers as a table */                                     \
  SECTION(curves, "curves", "Curves", const ReportData&)                                                                \
  /* objects and, where there is truth, AP of every method's labels */                                                  \
  SECTION(methods, "methods", "Labels", const ReportData&)                                                              \
  /* where there is truth: how often what the methods are so sure of is so */                                           \
  SECTION(reliability, "reliability", "Reliability", const ReportData&)                                                 \
  /* the table of annotators, an overview, and the place where one annotator is shown */                                \
  SECTION(annotators, "annotators", "Annotators", const ReportData&, const AnnotatorClusters&)                          \
  /* means, confusions and box errors of the groups */                                                                  \
  SECTION(clusters, "groups", "Groups", const ReportData&, const AnnotatorClusters&)                                    \
  /* who errs alike: communities and a heat map */                                                                      \
  SECTION(dependence, "alike", "Who errs alike", const ReportData&)                                                     \
  /* images on which the annotators disagree most, with each method's consensus beside */                               \
  SECTION(gallery, "gallery", "Disagreement", const ReportData&, const ReportSettings&)                                 \
  /* places that a trusted person can settle on the page */                                                               \
  SECTION(settle, "settle", "Decisions", const ReportData&, const ReportSettings&)                                      \
  /* what is worth another look, with all of it as a CSV file behind a link */                                          \
  SECTION(relabel, "relabel", "Worth another look", const ReportData&, const ReportSettings&)                           \
  /* which image should be shown to whom next, with all of it as a CSV file behind a link */                            \
  SECTION(plan, "plan", "Plan", const ReportData&, const ReportSettings&)
// clang-format on

namespace bdc::host {

#define BDC_DECLARE(name, anchor, link, ...) [[nodiscard]] std::string name##_section(__VA_ARGS__);
BDC_REPORT_SECTIONS(BDC_DECLARE)
#undef BDC_DECLARE

/// What is worth another look as CSV text: rank, gain, image, box, class, existence, who drew and who saw it. rows: at
/// most so many.
[[nodiscard]] std::string relabel_csv(const ReportData& data, std::size_t rows);

/// The numbers behind what the page's script draws: confusion matrices (class probabilities on a log scale, one letter
/// each) and box errors of annotators and groups.
[[nodiscard]] Json script_data(const ReportData& data, const AnnotatorClusters& clusters);

/// Names of the four box errors of a profile, how a table heads their means, and what they are measured in.
struct BoxErrorNames {
  std::array<std::string, 4> name, heading, unit;
};
[[nodiscard]] BoxErrorNames box_error_names(const std::string& profile);

/// "A", "B", ...: how the page calls group g.
[[nodiscard]] std::string cluster_name(std::size_t g);

/// Name or, without one, id.
[[nodiscard]] std::string annotator_name(const AnnotatorEvidence& annotator);

}  // namespace bdc::host
