#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_io.h"
#include "report/report_data.h"

namespace bdc::host {

/// What to make a report of: the folder of a run or an experiment, or labels with what `aggregate` made of them.
struct ReportRequest {
  std::vector<std::string> inputs;     ///< one run folder, or files and folders of labels
  std::vector<std::string> consensus;  ///< FILE or NAME=FILE, of write_targets
  std::vector<std::string> methods;    ///< to run on the labels when no consensus is named
  std::string annotators, truth, images, title;
  ReadOptions reading;
  int threads = 0;
  std::function<void(const std::string&)> progress;  ///< what is being done; may be empty
};

/// A consensus as the user names it: NAME=FILE, or a file whose name without extension is the method's.
struct ConsensusFile {
  std::string name, file;
};
[[nodiscard]] ConsensusFile consensus_file(const std::string& text);

/// Whether the folder is one that `experiment` made; that `train` made.
[[nodiscard]] bool is_experiment_folder(const std::string& path);
[[nodiscard]] bool is_run_folder(const std::string& path);

/// Reads everything. A run whose data files are gone still gives its curves and annotators; whatever is missing or
/// damaged and can be done without is a note. Throws DataError or UserError for files that do not fit together.
[[nodiscard]] ReportData load_report(const ReportRequest& request);

}  // namespace bdc::host
