#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bdc::host {

/// Throws UserError (exit 2) when a file to write is one of the files to read, or is named twice. Of an input that is a
/// folder every file below it counts as read, unless is_earlier_output says that it is what an earlier call wrote; a
/// new file may always be written there. Empty names are left out. Called before any work is done.
void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                   const std::function<bool(const std::string&)>& is_earlier_output = nullptr);

/// Throws UserError (exit 2) when a file to write exists and does not begin like one that bdc writes, unless `force`.
/// Empty names, pipes and devices are left out.
/// is_ours: a verb's own way to tell.
void keep_others_files(const std::vector<std::string>& outputs, bool force,
                       const std::function<bool(const std::string&)>& is_ours = nullptr);

/// Throws UserError (exit 2) when one of the files to write is a folder. Empty names are left out.
void require_no_folders(const std::vector<std::string>& outputs);

/// Throws UserError (exit 2) when the file of true boxes is one of the labels that it is to judge. `truth` may be "".
void require_other_truth(const std::vector<std::string>& labels, const std::string& truth);

/// Those of the paths that are folders.
[[nodiscard]] std::vector<std::string> folders_of(const std::vector<std::string>& paths);

/// Throws UserError (exit 1) unless a file or folder of that name can be made: before long work rather than after it.
/// Nothing is checked for "" and for what is no file, such as a pipe.
void check_output_folder(const std::string& output);

}  // namespace bdc::host
