#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace bdc {

/// A table of text, columns as wide as their content, numbers to the right where `right` says so.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)), right_(header_.size(), false) {}
  void align_right(std::size_t column) { right_.at(column) = true; }
  void add(std::vector<std::string> row);
  void print(std::ostream& out) const;

 private:
  std::vector<std::string> header_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

/// A number with fixed decimals.
[[nodiscard]] std::string fixed(double value, int decimals);

}  // namespace bdc
