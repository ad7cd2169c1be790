#include "studio/experiment/table.h"

#include <algorithm>
#include <cmath>

#include "bdc/base/table.h"
#include "studio/report/html.h"

namespace bdc::host {
namespace {

struct ColumnName {
  const char *name, *part, *key;
};
constexpr ColumnName kColumns[] = {{"test AP50", "test", "AP50"},
                                   {"test AP75", "test", "AP75"},
                                   {"test AP", "test", "AP"},
                                   {"labels AP50", "labels", "AP50"},
                                   {"labels AP75", "labels", "AP75"},
                                   {"labels AP", "labels", "AP"},
                                   {"preprocessing s", "seconds", "preprocessing"},
                                   {"epoch s", "seconds", "epoch"}};

bool is_share(const std::string& column) {
  return column.find("AP") != std::string::npos;
}

std::string cell_text(const TableRow& row, const std::string& column) {
  const auto found = row.number.find(column);
  if (found == row.number.end()) return "–";
  const double factor = is_share(column) ? 100 : 1;
  const int decimals = is_share(column) ? 1 : 2;
  std::string out = fixed(found->second.mean() * factor, decimals);
  if (found->second.values.size() > 1) out += " ± " + fixed(found->second.deviation() * factor, decimals);
  return out;
}

/// A name inside a Markdown table.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' || c == '\n' || c == '\r' ? ' ' : c;
  return out;
}

}  // namespace

double Spread::mean() const {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double Spread::deviation() const {
  if (values.size() < 2) return 0;
  double squares = 0;
  for (const double v : values) squares += (v - mean()) * (v - mean());
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::vector<TableRow> experiment_rows(const Grid& grid, const std::vector<Json>& results) {
  std::vector<TableRow> out;
  for (std::size_t n = 0; n < grid.cells.size(); ++n) {
    const Cell& cell = grid.cells[n];
    const bool same = !out.empty() && out.back().data == cell.data && out.back().crowd == cell.crowd &&
                      out.back().detector == cell.detector && out.back().method == cell.method;
    if (!same) out.push_back({cell.data, cell.crowd, cell.detector, cell.method, 0, 0, {}});
    TableRow& row = out.back();
    ++row.seeds;
    if (results[n].is_null()) continue;
    ++row.done;
    for (const ColumnName& c : kColumns) {
      const Json part = results[n].value(c.part, Json::object());
      if (part.contains(c.key) && part[c.key].is_number())
        row.number[c.name].values.push_back(part[c.key].get<double>());
    }
  }
  return out;
}

std::vector<std::string> experiment_columns(const std::vector<TableRow>& rows) {
  std::vector<std::string> out;
  for (const ColumnName& c : kColumns) {
    if (std::any_of(rows.begin(), rows.end(), [&](const TableRow& r) { return r.number.count(c.name) > 0; })) {
      out.emplace_back(c.name);
    }
  }
  return out;
}

std::string markdown_table(const std::string& name, const std::vector<TableRow>& rows) {
  const auto columns = experiment_columns(rows);
  const bool detectors = std::any_of(rows.begin(), rows.end(), [](const TableRow& r) { return !r.detector.empty(); });
  std::string head = std::string("| data | crowd |") + (detectors ? " detector |" : "") + " method |",
              line = std::string("|---|---|") + (detectors ? "---|" : "") + "---|";
  for (const auto& c : columns) {
    head += " " + c + (is_share(c) ? " %" : "") + " |";
    line += "---:|";
  }
  std::string out = "# " + plain(name) + "\n\n" + head + " seeds |\n" + line + "---:|\n";
  for (const TableRow& row : rows) {
    out += "| " + plain(row.data) + " | " + plain(row.crowd) + " |" +
           (detectors ? " " + plain(row.detector) + " |" : "") + " " + plain(row.method) + " |";
    for (const auto& c : columns) out += " " + cell_text(row, c) + " |";
    out += " " + std::to_string(row.done) + (row.done < row.seeds ? " of " + std::to_string(row.seeds) : "") + " |\n";
  }
  return out;
}

std::string csv_table(const std::vector<TableRow>& rows) {
  const auto columns = experiment_columns(rows);
  std::string out = "data,crowd,detector,method,seeds";
  for (const auto& c : columns) out += "," + c + " mean," + c + " deviation";
  out += "\n";
  for (const TableRow& row : rows) {
    out += csv_text(row.data) + "," + csv_text(row.crowd) + "," + csv_text(row.detector) + "," + csv_text(row.method) +
           "," + std::to_string(row.done);
    for (const auto& c : columns) {
      const auto found = row.number.find(c);
      out += found == row.number.end()
                 ? std::string(",,")
                 : "," + brief(found->second.mean(), 6) + "," + brief(found->second.deviation(), 4);
    }
    out += "\n";
  }
  return out;
}

Json json_table(const std::string& name, const std::vector<TableRow>& rows) {
  Json out = {{"format", "bdc_experiment"}, {"version", 1}, {"name", name}, {"rows", Json::array()}};
  for (const TableRow& row : rows) {
    Json line = {{"data", row.data},     {"crowd", row.crowd}, {"detector", row.detector},
                 {"method", row.method}, {"done", row.done},   {"seeds", row.seeds}};
    for (const auto& c : experiment_columns(rows)) {
      const auto found = row.number.find(c);
      if (found == row.number.end()) continue;
      line["numbers"][c] = {
          {"mean", found->second.mean()}, {"deviation", found->second.deviation()}, {"values", found->second.values}};
    }
    out["rows"].push_back(std::move(line));
  }
  return out;
}

}  // namespace bdc::host
