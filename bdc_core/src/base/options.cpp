#include "bdc/base/options.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "bdc/base/nearest.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

std::string brief(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

std::string shortest(double value) {
  char text[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

std::vector<std::string> names_of(const std::vector<OptionSpec>& schema) {
  std::vector<std::string> out;
  for (const OptionSpec& spec : schema) out.push_back(spec.name);
  return out;
}

const OptionSpec* find(const std::vector<OptionSpec>& schema, const std::string& name) {
  const auto spec = std::find_if(schema.begin(), schema.end(), [&](const OptionSpec& s) { return s.name == name; });
  return spec == schema.end() ? nullptr : &*spec;
}

std::map<std::string, OptionValue> defaults(const std::vector<OptionSpec>& schema) {
  std::map<std::string, OptionValue> out;
  for (const OptionSpec& spec : schema) out[spec.name] = spec.default_value;
  return out;
}

bool in_range(const OptionSpec& spec, double value) {
  return !(spec.min && !(value >= *spec.min)) && !(spec.max && !(value <= *spec.max));
}

bool is_choice(const OptionSpec& spec, const std::string& text) {
  return spec.choices.empty() || std::find(spec.choices.begin(), spec.choices.end(), text) != spec.choices.end();
}

/// "true", "the number 2.5", "the string "wide"".
std::string found_text(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return "the string \"" + printable(shorten(*text, 60)) + "\"";
  }
  return (std::holds_alternative<bool>(value) ? "" : "the number ") + option_text(value);
}

/// " from 0 to 1", " of at least 0", or nothing.
std::string limits(const OptionSpec& spec) {
  if (spec.min && spec.max) return " from " + brief(*spec.min) + " to " + brief(*spec.max);
  if (spec.min) return " of at least " + brief(*spec.min);
  if (spec.max) return " of at most " + brief(*spec.max);
  return "";
}

/// A text as the type that its option has, or the text itself where it is none of that type.
OptionValue typed(const OptionSpec& spec, const std::string& text) {
  if (std::holds_alternative<std::string>(spec.default_value)) return text;
  if (std::holds_alternative<bool>(spec.default_value)) {
    if (text == "true" || text == "false") return text == "true";
    return text;
  }
  const std::optional<double> value = parse_real(text);
  if (!value) return text;
  constexpr double kExact = 9007199254740992.0;  // whole numbers up to here are exact
  const bool is_whole = *value == std::floor(*value) && std::abs(*value) <= kExact;
  if (is_whole && std::holds_alternative<std::int64_t>(spec.default_value)) return static_cast<std::int64_t>(*value);
  return *value;
}

}  // namespace

OptionValue check_option(const OptionSpec& spec, const OptionValue& given, const std::string& where) {
  const auto fail = [&](const std::string& expected) {
    return std::invalid_argument(where + ": expected " + expected + ", found " + found_text(given));
  };
  const bool wants_number = std::holds_alternative<double>(spec.default_value);
  const bool is_widened = wants_number && std::holds_alternative<std::int64_t>(given);
  if (spec.default_value.index() != given.index() && !is_widened) throw fail(expected_type(spec));
  if (const auto* text = std::get_if<std::string>(&given)) {
    if (!is_choice(spec, *text)) throw fail("one of " + join(spec.choices));
    return given;
  }
  if (std::holds_alternative<bool>(given)) return given;
  const auto* whole = std::get_if<std::int64_t>(&given);
  const double value = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(given);
  if (!std::isfinite(value)) throw fail("a finite number");
  if (!in_range(spec, value)) throw fail(expected_type(spec) + limits(spec));
  return wants_number ? OptionValue(value) : given;
}

const OptionSpec& find_option(const std::vector<OptionSpec>& schema, const std::string& name,
                              const std::string& where) {
  if (const OptionSpec* spec = find(schema, name)) return *spec;
  throw std::invalid_argument(where + "." + printable(shorten(name, 200)) + ": unknown option" +
                              (schema.empty() ? "; there are none" : did_you_mean(name, names_of(schema))));
}

Options check_options(const std::vector<OptionSpec>& schema, const std::map<std::string, OptionValue>& given,
                      const std::string& where) {
  std::map<std::string, OptionValue> values = defaults(schema);
  for (const auto& [name, value] : given) {
    values[name] = check_option(find_option(schema, name, where), value, where + "." + name);
  }
  return Options(std::move(values));
}

OptionValue parse_option(const OptionSpec& spec, const std::string& text, const std::string& where) {
  return check_option(spec, typed(spec, text), where);
}

Options parse_options(const std::vector<OptionSpec>& schema, const std::map<std::string, std::string>& given,
                      const std::string& where) {
  std::map<std::string, OptionValue> values;
  for (const auto& [name, text] : given) values[name] = typed(find_option(schema, name, where), text);
  return check_options(schema, values, where);
}

std::string type_name(const OptionValue& value) {
  static const char* const names[] = {"bool", "integer", "number", "string"};
  return names[value.index()];
}

std::string expected_type(const OptionSpec& spec) {
  static const char* const names[] = {"true or false", "an integer", "a number", "a string"};
  return names[spec.default_value.index()];
}

std::string range_text(const OptionSpec& spec) {
  if (!spec.choices.empty()) return join(spec.choices, " | ");
  if (spec.min && spec.max) return brief(*spec.min) + " .. " + brief(*spec.max);
  if (spec.min) return ">= " + brief(*spec.min);
  if (spec.max) return "<= " + brief(*spec.max);
  return "";
}

std::string option_text(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return shortest(std::get<double>(value));
}

}  // namespace bdc
