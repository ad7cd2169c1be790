#pragma once

#include <array>
#include <string>
#include <vector>

#include "bdc/learn/annotator_figures.h"
#include "studio/report/report_data.h"

namespace bdc::host {

struct ScorecardSettings {
  bool names = true;         ///< false: neither name nor id of the annotator is on the page
  std::size_t examples = 4;  ///< of each kind
};

/// A page for each annotator: what the labels of all tell about their own boxes. Of others a page holds means alone,
/// and these only where they are of so many people that they tell nothing of one.
class Scorecards {
 public:
  /// data.posteriors must be there. Examples need the crowd and a method. data must outlive this.
  Scorecards(const ReportData& data, const ScorecardSettings& settings);

  [[nodiscard]] std::size_t size() const { return data_.posteriors->annotators.size(); }
  /// A self-contained HTML page in the report's style, without a script.
  [[nodiscard]] std::string page(std::size_t k) const;
  /// "index.html": links to all pages. Nothing of what the pages say.
  [[nodiscard]] std::string index() const;
  /// "w12.html": after the name (the id where names are left out) where that can be a file's name, else after the
  /// number. Different for each annotator.
  [[nodiscard]] std::vector<std::string> file_names() const;

 private:
  /// Mean of the figures that the labels determine, over how many people.
  struct CrowdMean {
    double mean = 0;
    std::size_t people = 0;
  };
  [[nodiscard]] CrowdMean mean_of(Figure (*figure)(const AnnotatorPosteriors&, std::size_t)) const;
  [[nodiscard]] std::string mean_text(const CrowdMean& mean, double scale, int decimals, const char* unit) const;
  [[nodiscard]] std::string in_short(std::size_t k) const;
  [[nodiscard]] std::string missed_part(std::size_t k, const std::string& missed, const std::string& loose,
                                        const std::string& extra) const;
  [[nodiscard]] std::string confused_part(std::size_t k, const std::string& examples) const;
  [[nodiscard]] std::string boxes_part(std::size_t k, const std::string& examples) const;

  const ReportData& data_;
  ScorecardSettings settings_;
  CrowdMean recall_, spurious_, accuracy_, noise_;
  std::array<CrowdMean, 4> bias_;
};

/// How every scorecard begins: by this an earlier one is known.
[[nodiscard]] std::string scorecard_head();

}  // namespace bdc::host
