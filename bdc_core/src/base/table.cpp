#include "bdc/base/table.h"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <stdexcept>

namespace bdc {
namespace {

/// Columns a terminal needs for UTF-8 text: code points, good enough for what we print.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  if (row.size() != header_.size()) throw std::logic_error("table row has another number of cells than the header");
  rows_.push_back(std::move(row));
}

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> width(header_.size());
  for (std::size_t c = 0; c < header_.size(); ++c) {
    width[c] = columns(header_[c]);
    for (const auto& row : rows_) width[c] = std::max(width[c], columns(row[c]));
  }
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string pad(width[c] - columns(row[c]), ' ');
      text += (c ? "  " : "") + (right_[c] ? pad + row[c] : row[c] + pad);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  };
  line(header_);
  std::size_t total = 2 * (header_.size() - 1);
  for (const std::size_t w : width) total += w;
  out << std::string(total, '-') << '\n';
  for (const auto& row : rows_) line(row);
}

std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

}  // namespace bdc
