#include "files/outputs.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bdc/base/user_error.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::exists(a, ignored) && fs::exists(b, ignored)) {
    return fs::is_regular_file(a, ignored) && fs::equivalent(a, b, ignored);
  }
  return fs::weakly_canonical(fs::absolute(a), ignored) == fs::weakly_canonical(fs::absolute(b), ignored);
}

/// Whether the file is one of those below the folder, by whatever name or link.
bool holds_file(const std::string& folder, const std::string& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (fs::equivalent(at->path(), file, ignored)) return true;
  }
  return false;
}

}  // namespace

void check_output_folder(const std::string& output) {
  std::error_code ignored;
  const fs::file_status status = fs::status(output, ignored);
  if (output.empty() || (fs::exists(status) && !fs::is_regular_file(status))) return;  // a device, a pipe, a folder
  fs::path path = fs::path(output).lexically_normal();
  if (!path.has_filename() && path.has_parent_path()) path = path.parent_path();  // "new/" is the folder "new"
  fs::path folder = path.parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, ignored)) {
    throw UserError(ExitCode::failure,
                    output + ": cannot be written: there is no folder " + folder.string() + "; create it first");
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw UserError(ExitCode::failure, output + ": cannot be written: " + std::strerror(errno));
  }
}

void require_no_folders(const std::vector<std::string>& outputs) {
  for (const std::string& folder : folders_of(outputs)) {
    throw UserError(ExitCode::usage, folder + ": expected a file, found a folder");
  }
}

void require_other_truth(const std::vector<std::string>& labels, const std::string& truth) {
  if (truth.empty()) return;
  for (const std::string& path : labels) {
    std::error_code ignored;
    const bool is_one = fs::is_directory(path, ignored) ? holds_file(path, truth) : is_same_file(path, truth);
    if (!is_one) continue;
    throw UserError(ExitCode::usage, "--truth " + truth +
                                         ": is one of the labels to be judged by it; give a file of true boxes, or "
                                         "leave it out of the labels");
  }
}

void keep_others_files(const std::vector<std::string>& outputs, bool force,
                       const std::function<bool(const std::string&)>& is_ours) {
  if (force) return;
  for (const std::string& output : outputs) {
    std::error_code ignored;
    if (output.empty() || !fs::is_regular_file(output, ignored) || fs::file_size(output, ignored) == 0) continue;
    std::ifstream in(output, std::ios::binary);
    std::string start(512, '\0');
    in.read(start.data(), static_cast<std::streamsize>(start.size()));
    start.resize(static_cast<std::size_t>(in.gcount()));
    const bool ours = (is_ours && is_ours(output)) || start.find("\"written_by\":\"bdc\"") != std::string::npos ||
                      start.find("\"bdc_annotators\"") != std::string::npos;
    if (ours) continue;
    throw UserError(ExitCode::usage,
                    output +
                        ": exists and is not a file that bdc-host has marked as its own; choose another "
                        "output, or replace it with --force (nothing was changed)");
  }
}

std::vector<std::string> folders_of(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (fs::is_directory(path, ignored)) out.push_back(path);
  }
  return out;
}

void check_outputs(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                   const std::function<bool(const std::string&)>& is_earlier_output) {
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    if (outputs[n].empty()) continue;
    check_output_folder(outputs[n]);
    for (const std::string& input : inputs) {
      if (!input.empty() && is_same_file(input, outputs[n])) {
        throw UserError(ExitCode::usage,
                        outputs[n] + ": would overwrite an input; choose another output file (nothing was changed)");
      }
    }
    if (is_earlier_output && is_earlier_output(outputs[n])) continue;
    for (const std::string& folder : folders_of(inputs)) {
      if (!holds_file(folder, outputs[n])) continue;
      throw UserError(ExitCode::usage, outputs[n] + ": would overwrite a file in " + folder +
                                           ", which is an input; choose another output file (nothing was changed)");
    }
  }
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    for (std::size_t m = 0; m < n; ++m) {
      if (!outputs[m].empty() && !outputs[n].empty() && is_same_file(outputs[m], outputs[n])) {
        throw UserError(ExitCode::usage, outputs[n] + ": is given for two outputs; give two files");
      }
    }
  }
}

}  // namespace bdc::host
