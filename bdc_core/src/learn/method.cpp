#include "bdc/learn/method.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace bdc {
namespace {

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// "x" -> the most similar of the names, for messages.
std::string nearest(const std::string& name, const std::vector<std::string>& names) {
  return *std::min_element(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool parse_number(const std::string& text, double& value) {
  try {
    std::size_t used = 0;
    value = std::stod(text, &used);
    return used == text.size() && std::isfinite(value);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

MethodOptions::MethodOptions(std::vector<MethodOption> known) : known_(std::move(known)) {
  for (const MethodOption& option : known_) values_[option.name] = option.default_value;
}

void MethodOptions::set(const std::string& name, const std::string& value) {
  const auto option = std::find_if(known_.begin(), known_.end(), [&](const MethodOption& o) { return o.name == name; });
  if (option == known_.end()) {
    if (known_.empty()) throw std::invalid_argument("option \"" + name + "\": the method has no options");
    std::vector<std::string> names;
    for (const MethodOption& o : known_) names.push_back(o.name);
    throw std::invalid_argument("option \"" + name + "\" is not known; did you mean \"" + nearest(name, names) +
                                "\"? There are: " + joined(names));
  }
  double number = 0;
  if (!option->choices.empty()) {
    if (std::find(option->choices.begin(), option->choices.end(), value) == option->choices.end()) {
      throw std::invalid_argument("option \"" + name + "\": expected one of " + joined(option->choices) + ", found \"" +
                                  value + "\"");
    }
  } else if (!option->is_text && !parse_number(value, number)) {
    throw std::invalid_argument("option \"" + name + "\": expected a number, found \"" + value + "\"");
  }
  values_[name] = value;
}

const std::string& MethodOptions::text(const std::string& name) const {
  return values_.at(name);
}

double MethodOptions::number(const std::string& name) const {
  double value = 0;
  if (!parse_number(values_.at(name), value)) throw std::logic_error("option \"" + name + "\" is not a number");
  return value;
}

double MethodOptions::number(const std::string& name, double low, double high) const {
  const double value = number(name);
  if (!(value >= low && value <= high)) {
    throw std::invalid_argument("option \"" + name + "\": expected a number from " + std::to_string(low) + " to " +
                                std::to_string(high) + ", found " + values_.at(name));
  }
  return value;
}

int MethodOptions::integer(const std::string& name, int low, int high) const {
  const double value = number(name, low, high);
  if (value != std::floor(value)) {
    throw std::invalid_argument("option \"" + name + "\": expected a whole number, found " + values_.at(name));
  }
  return static_cast<int>(value);
}

std::unique_ptr<AggregationMethod> make_method(const std::string& name,
                                               const std::map<std::string, std::string>& options) {
  const auto& table = aggregation_methods();
  const auto entry = std::find_if(table.begin(), table.end(), [&](const MethodEntry& e) { return e.name == name; });
  if (entry == table.end()) {
    std::vector<std::string> names;
    for (const MethodEntry& e : table) names.push_back(e.name);
    throw std::invalid_argument("method \"" + name + "\" is not known; did you mean \"" + nearest(name, names) +
                                "\"? There are: " + joined(names));
  }
  MethodOptions values(entry->options);
  for (const auto& [key, value] : options) values.set(key, value);
  return entry->create(values);
}

}  // namespace bdc
