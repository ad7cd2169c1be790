#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// One language of options for learners, hooks, detectors and config keys: whoever has settings lists OptionSpecs, the
/// user's values are checked against them once, and only checked Options travel further.
namespace bdc {

/// A value of an option: what JSON scalars can hold.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// One option. The type is the type of the default.
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

/// Checked options: every name of a schema is present with the right type. Asking for a name that is not in the schema,
/// or by another type, throws std::logic_error: a mistake in the program that asks.
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
    if (it == values_.end()) throw std::logic_error("option '" + name + "' is not in the schema");
    if (const T* value = std::get_if<T>(&it->second)) return *value;
    throw std::logic_error("option '" + name + "' is not " + type + " in the schema");
  }

  std::map<std::string, OptionValue> values_;
};

// ---- Checks. Not for plugins: these are compiled into bdc::base, and the host has checked before a plugin sees a
// value.

/// Values with a type, as a config file has them. `where` names the place: "train.json: plugin.options", or an option
/// of the command line: "--option". Throws std::invalid_argument, "<where>.width: expected a whole number from 4 to
/// 256, found the number 1": an unknown name (with the nearest one), a wrong type, a value that is not finite or out of
/// range. A whole number is a number, too.
[[nodiscard]] Options check_options(const std::vector<OptionSpec>& schema,
                                    const std::map<std::string, OptionValue>& given, const std::string& where);
/// The same for one value that `where` names.
[[nodiscard]] OptionValue check_option(const OptionSpec& spec, const OptionValue& given, const std::string& where);
/// The spec of that name. Throws std::invalid_argument, "<where>.widht: unknown option; did you mean 'width'?"
[[nodiscard]] const OptionSpec& find_option(const std::vector<OptionSpec>& schema, const std::string& name,
                                            const std::string& where);

/// The same of values as text, as --option KEY=VALUE gives them.
[[nodiscard]] OptionValue parse_option(const OptionSpec& spec, const std::string& text, const std::string& where);
[[nodiscard]] Options parse_options(const std::vector<OptionSpec>& schema,
                                    const std::map<std::string, std::string>& given, const std::string& where);

/// "integer", "number", "bool" or "string".
[[nodiscard]] std::string type_name(const OptionValue& value);
/// What a message says was expected: "a whole number from 4 to 256", "true or false", "one of a, b".
[[nodiscard]] std::string expected_value(const OptionSpec& spec);
/// "expected a whole number from 4 to 256, found the number 1"; "" for a value that is right.
[[nodiscard]] std::string why_refused(const OptionSpec& spec, const OptionValue& given);
/// The same of a value as text.
[[nodiscard]] std::string why_text_refused(const OptionSpec& spec, const std::string& text);
/// The place of an option in messages: "train.json: plugin.options.width", "--option width".
[[nodiscard]] std::string place_in(const std::string& where, const std::string& name);
/// "4 .. 256", ">= 0", "a | b", or "" when anything of the type is allowed.
[[nodiscard]] std::string range_text(const OptionSpec& spec);
/// The value as --option takes it: the shortest decimal that reads back as the same number.
[[nodiscard]] std::string option_text(const OptionValue& value);

}  // namespace bdc
