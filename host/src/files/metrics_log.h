#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "files/json_file.h"
#include "files/tensorboard.h"

namespace bdc::host {

/// The records of a run folder's metrics.jsonl, oldest first. A line that a crash cut off is no record.
[[nodiscard]] std::vector<Json> read_metrics(const std::filesystem::path& folder);

/// A number over the epochs, of the records that have it.
struct LoggedNumber {
  std::vector<double> epoch, value;
};
[[nodiscard]] LoggedNumber logged_number(const std::vector<Json>& records, const std::string& name);

/// The newest value of every number that was logged; and as "mean_images_per_second", where any was, the mean speed
/// over the epochs.
[[nodiscard]] Json latest_metrics(const std::filesystem::path& folder);

/// One record an epoch, in three forms: metrics.jsonl (a JSON object a line), results.csv (a row an epoch, a column for
/// every name that ever occurred) and a TensorBoard event file. All of it can be thrown away: nothing of
/// training reads it back.
class MetricsLog {
 public:
  /// Records of epochs after `keep_epochs` are dropped: a run that goes on from there will write them again.
  MetricsLog(std::filesystem::path folder, std::int64_t keep_epochs);

  /// epoch counts from 1. Throws UserError (exit 1) when the disk is full.
  void add(std::int64_t epoch, std::int64_t step, const std::map<std::string, double>& values);
  [[nodiscard]] const std::vector<Json>& records() const { return records_; }

 private:
  void write_files() const;
  std::filesystem::path folder_;
  std::vector<Json> records_;
  std::unique_ptr<TensorBoardFile> events_;
};

}  // namespace bdc::host
