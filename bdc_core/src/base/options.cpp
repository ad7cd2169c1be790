#include "bdc/base/options.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "bdc/base/nearest.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

std::string shortest(double value) {
  char text[40];
  if (value == std::floor(value) && std::abs(value) < 1e15) {  // 1000000, not 1e+06
    std::snprintf(text, sizeof(text), "%.0f", value);
    return text;
  }
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

/// The choices; one that is empty is shown by its quotes.
std::vector<std::string> shown_choices(const OptionSpec& spec) {
  std::vector<std::string> out;
  for (const std::string& choice : spec.choices) out.push_back(choice.empty() ? "\"\"" : choice);
  return out;
}

/// " from 0 to 1", " of at least 0", or nothing.
std::string limits(const OptionSpec& spec) {
  if (spec.min && spec.max) return " from " + shortest(*spec.min) + " to " + shortest(*spec.max);
  if (spec.min) return " of at least " + shortest(*spec.min);
  if (spec.max) return " of at most " + shortest(*spec.max);
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

std::string place_in(const std::string& where, const std::string& name) {
  const bool is_flag = where.rfind("--", 0) == 0 && where.find(' ') == std::string::npos;
  return where + (is_flag ? " " : ".") + name;
}

std::string why_refused(const OptionSpec& spec, const OptionValue& given) {
  const std::string refusal = "expected " + expected_value(spec) + ", found " + found_text(given);
  const bool wants_number = std::holds_alternative<double>(spec.default_value);
  const bool is_widened = wants_number && std::holds_alternative<std::int64_t>(given);
  if (spec.default_value.index() != given.index() && !is_widened) return refusal;
  if (const auto* text = std::get_if<std::string>(&given)) {
    if (is_choice(spec, *text)) return "";
    constexpr std::size_t kFew = 3;  // a list to take in at a glance
    const std::string near = spec.choices.size() > kFew ? nearest(*text, spec.choices) : "";
    return refusal + (near.empty() ? "" : "; did you mean '" + near + "'?");
  }
  if (std::holds_alternative<bool>(given)) return "";
  const auto* whole = std::get_if<std::int64_t>(&given);
  const double value = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(given);
  return std::isfinite(value) && in_range(spec, value) ? "" : refusal;
}

std::string why_text_refused(const OptionSpec& spec, const std::string& text) {
  return why_refused(spec, typed(spec, text));
}

OptionValue check_option(const OptionSpec& spec, const OptionValue& given, const std::string& where) {
  if (const std::string why = why_refused(spec, given); !why.empty()) throw std::invalid_argument(where + ": " + why);
  const auto* whole = std::get_if<std::int64_t>(&given);
  const bool is_widened = whole != nullptr && std::holds_alternative<double>(spec.default_value);
  return is_widened ? OptionValue(static_cast<double>(*whole)) : given;
}

const OptionSpec& find_option(const std::vector<OptionSpec>& schema, const std::string& name,
                              const std::string& where) {
  if (const OptionSpec* spec = find(schema, name)) return *spec;
  throw std::invalid_argument(place_in(where, printable(shorten(name, 200))) + ": unknown option" +
                              (schema.empty() ? "; there are none" : did_you_mean(name, names_of(schema))));
}

Options check_options(const std::vector<OptionSpec>& schema, const std::map<std::string, OptionValue>& given,
                      const std::string& where) {
  std::map<std::string, OptionValue> values = defaults(schema);
  for (const auto& [name, value] : given) {
    values[name] = check_option(find_option(schema, name, where), value, place_in(where, name));
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

std::string expected_value(const OptionSpec& spec) {
  if (!spec.choices.empty()) return "one of " + join(shown_choices(spec));
  const bool is_number = std::holds_alternative<double>(spec.default_value);
  if (is_number && !spec.min && !spec.max) return "a finite number";
  static const char* const names[] = {"true or false", "a whole number", "a number", "a string"};
  return names[spec.default_value.index()] + limits(spec);
}

std::string range_text(const OptionSpec& spec) {
  if (!spec.choices.empty()) return join(shown_choices(spec), " | ");
  if (spec.min && spec.max) return shortest(*spec.min) + " .. " + shortest(*spec.max);
  if (spec.min) return ">= " + shortest(*spec.min);
  if (spec.max) return "<= " + shortest(*spec.max);
  return "";
}

std::string option_text(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return shortest(std::get<double>(value));
}

}  // namespace bdc
