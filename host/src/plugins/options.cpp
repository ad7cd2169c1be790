#include "plugins/options.h"

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

using plugin::OptionSpec;
using plugin::OptionValue;

/// The value as the core knows it. A number is fine where text is expected, as --set gives a list with a single number.
OptionValue to_value(const OptionSpec& spec, const Json& given, const std::string& where) {
  const bool wants_text = std::holds_alternative<std::string>(spec.default_value);
  if (wants_text && given.is_number() && spec.choices.empty()) return given.dump();
  if (given.is_string()) return given.get<std::string>();
  if (given.is_boolean()) return given.get<bool>();
  const bool is_huge = given.is_number_unsigned() && given.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
  if (given.is_number_integer() && !is_huge) return given.get<std::int64_t>();
  if (given.is_number()) return given.get<double>();
  throw std::invalid_argument(where + ": expected " + expected_value(spec) + ", found " + type_of(given));
}

}  // namespace

OptionValue check_option(const OptionSpec& spec, const Json& given, const std::string& where) {
  try {
    return bdc::check_option(spec, to_value(spec, given, where), where);
  } catch (const std::invalid_argument& e) {
    throw UserError(ExitCode::config, e.what());
  }
}

plugin::Options check_options(const std::vector<OptionSpec>& schema, const Json& given, const std::string& where) {
  if (!given.is_object()) throw UserError(ExitCode::config, where + ": expected an object, found " + type_of(given));
  try {
    std::map<std::string, OptionValue> values;
    for (const auto& [name, value] : given.items()) {
      values[name] = to_value(find_option(schema, name, where), value, where + "." + name);
    }
    return bdc::check_options(schema, values, where);
  } catch (const std::invalid_argument& e) {
    throw UserError(ExitCode::config, e.what());
  }
}

Json to_json(const OptionValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json to_json(const plugin::Options& options) {
  Json out = Json::object();
  for (const auto& [name, value] : options.values()) out[name] = to_json(value);
  return out;
}

}  // namespace bdc::host
