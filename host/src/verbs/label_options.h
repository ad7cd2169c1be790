#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "bdc/core/io/crowd_io.h"

namespace bdc::host {

/// --format, --sizes, --image-folder, --class-names, --annotator and --voc-one-based, the same in every verb that reads
/// labels.
std::shared_ptr<ReadOptions> add_label_options(CLI::App& verb, const char* format_flag = "--format");

/// "coco, crowd, cvat, ...": the names of crowd_formats().
[[nodiscard]] std::string format_names(bool writable_only = false);

}  // namespace bdc::host
