#include "files/json_section.h"

#include <algorithm>

#include "bdc/base/nearest.h"
#include "bdc/base/options.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"

namespace bdc::host {

void config_error(const std::string& where, const std::string& what) {
  throw UserError(ExitCode::config, where + ": " + what);
}

JsonSection::JsonSection(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
  if (!json.is_object()) config_error(where_, "expected an object, found " + type_of(json));
}

bool JsonSection::has(const char* key) {
  known_.push_back(key);
  return json_.contains(key);
}

double JsonSection::number(const char* key, double otherwise, double low, double high) {
  if (!has(key)) return otherwise;
  const Json& value = json_[key];
  const bool sound = value.is_number() && value.get<double>() >= low && value.get<double>() <= high;
  if (!sound) {
    config_error(at(key),
                 "expected " + expected_value(number_option("", low, "", low, high)) + ", found " + type_of(value));
  }
  return value.get<double>();
}

std::int64_t JsonSection::integer(const char* key, std::int64_t otherwise, std::int64_t low, std::int64_t high) {
  if (!has(key)) return otherwise;
  const Json& value = json_[key];
  // One above the largest signed number would be read as a negative one.
  const bool fits = value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() >> 63);
  if (!fits || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) {
    config_error(at(key), "expected a whole number from " + std::to_string(low) + " to " + std::to_string(high) +
                              ", found " + type_of(value));
  }
  return value.get<std::int64_t>();
}

std::string JsonSection::text(const char* key, const std::string& otherwise) {
  if (!has(key)) return otherwise;
  if (!json_[key].is_string()) config_error(at(key), "expected a string, found " + type_of(json_[key]));
  return json_[key].get<std::string>();
}

std::string JsonSection::choice(const char* key, const std::string& otherwise, const std::vector<std::string>& words) {
  const std::string word = text(key, otherwise);
  if (std::find(words.begin(), words.end(), word) == words.end()) {
    config_error(at(key), why_text_refused(string_option("", "", "", words), word));
  }
  return word;
}

bool JsonSection::boolean(const char* key, bool otherwise) {
  if (!has(key)) return otherwise;
  if (!json_[key].is_boolean()) config_error(at(key), "expected true or false, found " + type_of(json_[key]));
  return json_[key].get<bool>();
}

std::vector<const Json*> JsonSection::list(const char* key) {
  std::vector<const Json*> out;
  if (!has(key)) return out;
  if (!json_[key].is_array()) config_error(at(key), "expected a list, found " + type_of(json_[key]));
  for (const Json& element : json_[key]) out.push_back(&element);
  return out;
}

std::string JsonSection::element(const char* key, std::size_t n) const {
  return at(key) + "[" + std::to_string(n) + "]";
}

void JsonSection::finish() const {
  for (const auto& [key, value] : json_.items()) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      config_error(at(printable(key)), "unknown key" + did_you_mean(key, known_));
    }
  }
}

}  // namespace bdc::host
