#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"
#include "engine_api/pictures.h"
#include "files/json_file.h"

namespace bdc::host {

/// What one method made of the labels.
struct MethodLabels {
  std::string name;  ///< "bdc", "mv", or a name the user gave
  Targets targets;   ///< of the images of ReportData::crowd
};

/// All that a report can show. Parts that are empty are left out of the page.
struct ReportData {
  std::string title, source;
  CrowdData crowd;  ///< no images: nothing is known of the labels
  std::vector<MethodLabels> methods;
  std::optional<AnnotatorPosteriors> posteriors;  ///< aligned with the crowd where there is one
  std::string learnt_by;                          ///< who made the posteriors: "bdc, run for this report"; may be empty
  std::vector<Json> metrics;                      ///< of a run, a record an epoch (read_metrics)
  std::vector<double> bound;                      ///< lower bound after each round of an aggregation
  std::shared_ptr<const Pictures> pictures;       ///< image i is picture i of the crowd; null: none
  Json experiment;                                ///< table.json of an experiment; null: none
  std::vector<std::string> notes;                 ///< sentences for the reader
  std::function<void(const std::string&)> progress;  ///< told what is being done; may be empty

  void tell(const std::string& text) const {
    if (progress) progress(text);
  }
};

struct ReportSettings {
  std::size_t clusters = 0;        ///< 0: chosen
  std::size_t gallery = 24;        ///< images
  std::size_t relabel_rows = 200;  ///< in the page; the CSV has more
  int threads = 0;
  std::size_t planned_looks = 200;
  std::size_t settle = 100;  ///< places that are offered for decisions
};

}  // namespace bdc::host
