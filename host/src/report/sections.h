#pragma once

#include <string>
#include <vector>

#include "bdc/learn/annotator_clusters.h"
#include "bdc/learn/relabelling.h"
#include "report/report_data.h"

/// The parts of the page, in its order. Each returns HTML, or an empty string when there is nothing to show.
namespace bdc::host {

/// Loss, AP and lower bound over epochs or rounds, with the numbers as a table.
[[nodiscard]] std::string curves_section(const ReportData& data);

/// The table of an experiment, and charts of how each method does from crowd to crowd.
[[nodiscard]] std::string experiment_section(const ReportData& data);

/// Objects and, where there is truth, AP of every method's labels.
[[nodiscard]] std::string methods_section(const ReportData& data);

/// The table of annotators, an overview, and the place where one annotator is shown.
[[nodiscard]] std::string annotators_section(const ReportData& data, const AnnotatorClusters& clusters);

/// Means, confusions and box errors of the groups.
[[nodiscard]] std::string clusters_section(const ReportData& data, const AnnotatorClusters& clusters);

/// Images on which the annotators disagree most, with each method's consensus beside.
[[nodiscard]] std::string gallery_section(const ReportData& data, const ReportSettings& settings);

/// What is worth another look, with all of it as a CSV file behind a link.
[[nodiscard]] std::string relabel_section(const ReportData& data, const ReportSettings& settings);

/// The same as CSV text: rank, gain, image, box, class, existence, who drew and who saw it. rows: at most so many.
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
