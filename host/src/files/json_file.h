#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace bdc::host {

/// Object members stay in the order of the file.
using Json = nlohmann::ordered_json;

/// Reads a JSON file that may have // and /* */ comments. Throws UserError (exit 3) with file and line when it cannot
/// be read, is not JSON, is nested deeper than 64, is larger than 16 MiB, or names a key of an object twice.
[[nodiscard]] Json read_json_file(const std::filesystem::path& path);

/// "an object", "a string", "null"...: what a value is, for messages.
[[nodiscard]] std::string type_of(const Json& value);

/// The place of a member in messages: "grid.json" and "data" are "grid.json: data", that and "name" "grid.json:
/// data.name".
[[nodiscard]] std::string member_place(const std::string& where, const std::string& name);

}  // namespace bdc::host
