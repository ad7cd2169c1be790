#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_io.h"
#include "studio/report/report_data.h"

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
  /// Pictures of the crowd's images in a folder; what is missing there is told in `warnings`.
  std::function<std::shared_ptr<const Pictures>(const CrowdData&, const std::string& folder,
                                                std::vector<std::string>& warnings)>
      open_pictures;
  /// The labels that a run trains on, with their pictures. Throws when its data cannot be opened any more.
  std::function<std::shared_ptr<const Pictures>(const std::string& run, CrowdData& labels)> open_run;
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
