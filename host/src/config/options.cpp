#include "config/options.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/user_error.h"
#include "text/nearest.h"

namespace bdc::host {
namespace {

using plugin::OptionSpec;
using plugin::OptionValue;

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

}  // namespace

OptionValue check_option(const OptionSpec& spec, const Json& given, const std::string& where) {
  const auto fail = [&](const std::string& expected) -> UserError {
    return UserError(ExitCode::config, where + ": expected " + expected + ", found " + type_of(given));
  };
  const auto in_range = [&](double value) {
    if ((spec.min && !(value >= *spec.min)) || (spec.max && !(value <= *spec.max))) {
      throw fail((std::holds_alternative<double>(spec.default_value) ? "a number in " : "an integer in ") +
                 range_text(spec));
    }
  };
  if (std::holds_alternative<bool>(spec.default_value)) {
    if (!given.is_boolean()) throw fail("true or false");
    return given.get<bool>();
  }
  if (std::holds_alternative<std::int64_t>(spec.default_value)) {
    if (!given.is_number_integer() ||
        (given.is_number_unsigned() && given.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))) {
      throw fail("an integer");
    }
    in_range(given.get<double>());
    return given.get<std::int64_t>();
  }
  if (std::holds_alternative<double>(spec.default_value)) {
    if (!given.is_number()) throw fail("a number");
    const double value = given.get<double>();
    if (!std::isfinite(value)) throw fail("a finite number");
    in_range(value);
    return value;
  }
  // A list with a single number, as --set gives it, is text all the same.
  if (!given.is_string() && !(given.is_number() && spec.choices.empty())) throw fail("a string");
  const auto text = given.is_string() ? given.get<std::string>() : given.dump();
  if (!spec.choices.empty() && std::find(spec.choices.begin(), spec.choices.end(), text) == spec.choices.end()) {
    throw fail("one of " + join(spec.choices));
  }
  return text;
}

plugin::Options check_options(const std::vector<OptionSpec>& schema, const Json& given, const std::string& where) {
  if (!given.is_object()) throw UserError(ExitCode::config, where + ": expected an object, found " + type_of(given));
  std::vector<std::string> names;
  std::map<std::string, OptionValue> values;
  for (const auto& spec : schema) {
    names.push_back(spec.name);
    values[spec.name] = spec.default_value;
  }
  for (const auto& [key, value] : given.items()) {
    const auto spec =
        std::find_if(schema.begin(), schema.end(), [&, name = key](const auto& s) { return s.name == name; });
    if (spec == schema.end()) {
      throw UserError(ExitCode::config, where + "." + printable(key) + ": unknown option" +
                                            (names.empty() ? "; there are none" : did_you_mean(key, names)));
    }
    values[key] = check_option(*spec, value, where + "." + key);
  }
  return plugin::Options(std::move(values));
}

Json to_json(const OptionValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json to_json(const plugin::Options& options) {
  Json out = Json::object();
  for (const auto& [name, value] : options.values()) out[name] = to_json(value);
  return out;
}

std::string type_name(const OptionValue& value) {
  static const char* const names[] = {"bool", "integer", "number", "string"};
  return names[value.index()];
}

std::string range_text(const OptionSpec& spec) {
  if (!spec.choices.empty()) return join(spec.choices, " | ");
  if (spec.min && spec.max) return number_text(*spec.min) + " .. " + number_text(*spec.max);
  if (spec.min) return ">= " + number_text(*spec.min);
  if (spec.max) return "<= " + number_text(*spec.max);
  return "";
}

}  // namespace bdc::host
