#pragma once

#include <functional>
#include <memory>

#include "bdc/crowd/crowd_io.h"
#include "cli/command.h"

namespace bdc::host {

/// --format, --sizes, --image-folder, --class-names, --annotator, --annotator-from, --annotator-key, --split,
/// --shapes-to-boxes and --voc-one-based, the same in every verb that reads labels. Reading leaves its notes there; see
/// print_notes.
std::shared_ptr<ReadOptions> add_label_options(Command& verb, const char* format_flag = "--format");

/// What reading with these options had to say, on standard error; once.
void print_notes(const ReadOptions& options);

/// The same without those that concern annotators, for true boxes: nobody drew them.
std::shared_ptr<ReadOptions> add_truth_options(Command& verb);

/// The files that reading with these options needs beside the labels; names may be empty.
[[nodiscard]] std::vector<std::string> files_of(const ReadOptions& options);

/// The names of the formats, or of those that can be written.
[[nodiscard]] std::vector<std::string> names_of_formats(bool writable_only);

/// Whether write_crowd can tell the format to write from the path.
[[nodiscard]] bool extension_tells_format(const std::string& path);

/// "coco, crowd, cvat, ...": the names of crowd_formats().
[[nodiscard]] std::string format_names(bool writable_only = false);
/// The same with a title before them, on lines that fit a screen.
[[nodiscard]] std::string format_lines(const std::string& title, bool writable_only = false);

}  // namespace bdc::host
