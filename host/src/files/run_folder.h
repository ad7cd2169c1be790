#pragma once

#include <filesystem>
#include <string>

namespace bdc::host {

/// Makes a new folder for a run inside `parent`: `name` when given (an error if it exists), otherwise `stem`-1, -2, ...
/// the first that is free. Throws UserError (exit 1).
[[nodiscard]] std::filesystem::path make_run_folder(const std::filesystem::path& parent, const std::string& name,
                                                    const std::string& stem);

}  // namespace bdc::host
