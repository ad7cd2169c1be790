#include "files/metrics_log.h"

#include <algorithm>
#include <fstream>

#include "bdc/base/atomic_file.h"

namespace bdc::host {
namespace {

std::string csv_cell(const Json& value) {
  return value.is_null() ? "" : value.dump();
}

}  // namespace

std::vector<Json> read_metrics(const std::filesystem::path& folder) {
  std::vector<Json> out;
  std::ifstream in(folder / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    Json record = Json::parse(line, nullptr, false);
    if (record.is_object() && record.contains("epoch") && record["epoch"].is_number_integer()) {
      out.push_back(std::move(record));
    }
  }
  return out;
}

LoggedNumber logged_number(const std::vector<Json>& records, const std::string& name) {
  LoggedNumber out;
  for (const Json& record : records) {
    if (!record.contains(name) || !record[name].is_number()) continue;
    out.epoch.push_back(record["epoch"].get<double>());
    out.value.push_back(record[name].get<double>());
  }
  return out;
}

Json latest_metrics(const std::filesystem::path& folder) {
  Json last = Json::object();
  double speed = 0, records = 0;
  for (const Json& record : read_metrics(folder)) {
    for (const auto& [name, value] : record.items()) last[name] = value;
    const auto found = record.find("train/images_per_second");
    if (found == record.end() || !found->is_number()) continue;
    speed += found->get<double>();
    records += 1;
  }
  if (records > 0) last["mean_images_per_second"] = speed / records;
  return last;
}

MetricsLog::MetricsLog(std::filesystem::path folder, std::int64_t keep_epochs) : folder_(std::move(folder)) {
  for (Json& record : read_metrics(folder_)) {
    if (record["epoch"].get<std::int64_t>() <= keep_epochs) records_.push_back(std::move(record));
  }
  if (!records_.empty()) write_files();
}

void MetricsLog::add(std::int64_t epoch, std::int64_t step, const std::map<std::string, double>& values) {
  Json record = {{"epoch", epoch}, {"step", step}};
  for (const auto& [name, value] : values) record[name] = value;
  records_.push_back(std::move(record));
  write_files();
  if (!events_) events_ = std::make_unique<TensorBoardFile>(folder_);
  events_->add(epoch, values);
}

void MetricsLog::write_files() const {
  std::string lines;
  std::vector<std::string> names;
  for (const Json& record : records_) {
    lines += record.dump() + "\n";
    for (const auto& [name, value] : record.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  write_file_atomically(folder_ / "metrics.jsonl", lines);
  std::string csv;
  for (std::size_t n = 0; n < names.size(); ++n) csv += (n > 0 ? "," : "") + names[n];
  csv += "\n";
  for (const Json& record : records_) {
    for (std::size_t n = 0; n < names.size(); ++n) {
      csv += (n > 0 ? "," : "") + (record.contains(names[n]) ? csv_cell(record[names[n]]) : "");
    }
    csv += "\n";
  }
  write_file_atomically(folder_ / "results.csv", csv);
}

}  // namespace bdc::host
