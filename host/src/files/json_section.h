#pragma once

#include <string>
#include <vector>

#include "files/json_file.h"

namespace bdc::host {

/// Throws UserError (exit 3): "<where>: <what>".
[[noreturn]] void config_error(const std::string& where, const std::string& what);

/// An object of a JSON file, read member by member; whatever was not asked for is an unknown key. Every function throws
/// UserError (exit 3), naming the place, for a value of the wrong kind or out of range; a member that is not there has
/// the value `otherwise`.
class JsonSection {
 public:
  /// `json` must outlive this. `where` names it in messages.
  JsonSection(const Json& json, std::string where);

  [[nodiscard]] bool has(const char* key);
  [[nodiscard]] double number(const char* key, double otherwise, double low, double high);
  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t otherwise, std::int64_t low, std::int64_t high);
  [[nodiscard]] std::string text(const char* key, const std::string& otherwise);
  /// One of a few words.
  [[nodiscard]] std::string choice(const char* key, const std::string& otherwise,
                                   const std::vector<std::string>& words);
  [[nodiscard]] bool boolean(const char* key, bool otherwise);
  /// The elements of a list, or none.
  [[nodiscard]] std::vector<const Json*> list(const char* key);
  [[nodiscard]] std::string at(const std::string& key) const { return member_place(where_, key); }
  [[nodiscard]] std::string element(const char* key, std::size_t n) const;
  /// Throws when the object has members that were not asked for.
  void finish() const;

 private:
  const Json& json_;
  std::string where_;
  std::vector<std::string> known_;
};

}  // namespace bdc::host
