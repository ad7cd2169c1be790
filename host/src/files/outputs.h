#pragma once

#include <string>
#include <vector>

namespace bdc::host {

/// Throws UserError (exit 2) when a file to write is one of the files to read, or is named twice. Empty names are left
/// out. Called before any work is done.
void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

/// Throws UserError (exit 1) unless a file or folder of that name can be made: before long work rather than after it.
/// Nothing is checked for "" and for what is no file, such as a pipe.
void check_output_folder(const std::string& output);

}  // namespace bdc::host
