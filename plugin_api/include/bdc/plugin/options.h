#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bdc::plugin {

/// A value of an option: what JSON scalars can hold.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// One option a detector or a hook understands. The host checks every value against it before the plugin sees it,
/// fills in the default, and shows it in `bdc-host plugins info`. The type is the type of the default.
struct OptionSpec {
  std::string name;
  OptionValue default_value;
  std::string help;
  std::optional<double> min;         ///< smallest value, for numbers
  std::optional<double> max;         ///< largest value, for numbers
  std::vector<std::string> choices;  ///< allowed values, for strings; empty: any
};

[[nodiscard]] inline OptionSpec bool_option(std::string name, bool value, std::string help) {
  return {std::move(name), OptionValue(value), std::move(help), {}, {}, {}};
}
[[nodiscard]] inline OptionSpec int_option(std::string name, std::int64_t value, std::string help,
                                           std::optional<double> min = {}, std::optional<double> max = {}) {
  return {std::move(name), OptionValue(value), std::move(help), min, max, {}};
}
[[nodiscard]] inline OptionSpec number_option(std::string name, double value, std::string help,
                                              std::optional<double> min = {}, std::optional<double> max = {}) {
  return {std::move(name), OptionValue(value), std::move(help), min, max, {}};
}
[[nodiscard]] inline OptionSpec string_option(std::string name, std::string value, std::string help,
                                              std::vector<std::string> choices = {}) {
  return {std::move(name), OptionValue(std::move(value)), std::move(help), {}, {}, std::move(choices)};
}

/// Checked options, as a detector or hook receives them: every name of its schema is present with the right type.
/// Asking for a name that is not in the schema, or by another type, throws std::logic_error: a mistake in the plugin.
class Options {
 public:
  Options() = default;
  explicit Options(std::map<std::string, OptionValue> values) : values_(std::move(values)) {}

  [[nodiscard]] bool get_bool(const std::string& name) const { return get<bool>(name, "a bool"); }
  [[nodiscard]] std::int64_t get_int(const std::string& name) const { return get<std::int64_t>(name, "an integer"); }
  [[nodiscard]] double get_number(const std::string& name) const { return get<double>(name, "a number"); }
  [[nodiscard]] const std::string& get_string(const std::string& name) const {
    return get<std::string>(name, "a string");
  }
  [[nodiscard]] const std::map<std::string, OptionValue>& values() const { return values_; }

 private:
  template <class T>
  const T& get(const std::string& name, const char* type) const {
    const auto it = values_.find(name);
    if (it == values_.end()) throw std::logic_error("option '" + name + "' is not in the plugin's schema");
    if (const T* value = std::get_if<T>(&it->second)) return *value;
    throw std::logic_error("option '" + name + "' is not " + type + " in the plugin's schema");
  }

  std::map<std::string, OptionValue> values_;
};

}  // namespace bdc::plugin
