#pragma once

#include <map>
#include <string>
#include <vector>

#include "studio/experiment/grid.h"

namespace bdc::host {

/// Mean and spread of one number over seeds.
struct Spread {
  std::vector<double> values;
  [[nodiscard]] double mean() const;
  /// Standard deviation of the values (n - 1); 0 for one.
  [[nodiscard]] double deviation() const;
};

/// One line: a combination of data, crowd, detector and method over all seeds that are done.
struct TableRow {
  std::string data, crowd, detector, method;
  std::size_t done = 0, seeds = 0;
  std::map<std::string, Spread> number;  ///< "test AP50", "labels AP", "preprocessing s", ...
};

/// The lines of a grid, in its order. results: one per cell, null where it is not done yet.
[[nodiscard]] std::vector<TableRow> experiment_rows(const Grid& grid, const std::vector<Json>& results);

/// The columns that any line has, in the table's order.
[[nodiscard]] std::vector<std::string> experiment_columns(const std::vector<TableRow>& rows);

// The table in three forms. AP in %; "12.3 ± 0.4" where there are several seeds.
[[nodiscard]] std::string markdown_table(const std::string& name, const std::vector<TableRow>& rows);
[[nodiscard]] std::string csv_table(const std::vector<TableRow>& rows);
[[nodiscard]] Json json_table(const std::string& name, const std::vector<TableRow>& rows);

}  // namespace bdc::host
