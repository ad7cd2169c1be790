#pragma once

#include <string>
#include <vector>

namespace bdc::host {

/// Throws UserError (exit 2) when a file to write is one of the files to read, or is named twice. Empty names are left
/// out. Called before any work is done.
void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

}  // namespace bdc::host
