#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/crowd_io.h"
#include "crowd/crowd_builder.h"
#include "crowd/image_table.h"

namespace bdc {

/// What a format's functions work on while files are read.
struct ReadContext {
  const ReadOptions& options;
  CrowdBuilder& builder;
  std::optional<ImageTable> sidecar;        ///< sizes.csv of the folder being read
  std::optional<ImageTable> sizes;          ///< options.sizes_csv
  std::optional<ImageFolder> image_folder;  ///< options.image_folder
  std::vector<std::string> class_names;     ///< options.class_names or what lies in the data's folder
  bool class_names_known = false, class_names_used = false;
  /// Numbers that files give to images which are known by their names (CVAT); finish() decides whether to use them.
  std::vector<std::pair<std::int32_t, std::int64_t>> image_numbers;
};

/// One format of crowd data. A new format is a file in formats/ and a line of the table in formats.cpp.
struct CrowdFormat {
  const char* name;
  const char* description;
  /// Whether this path (an existing file or folder) looks like the format. Asked in the order of the table.
  bool (*detect)(const std::string& path);
  /// One file's text. `name` is its path, or stands for it in messages.
  void (*parse)(std::istream& in, const std::string& name, ReadContext& context);
  /// A path the user gave: opens the file, or the files of a folder, and calls parse.
  void (*read)(const std::string& path, ReadContext& context);
  /// After all files; may be null.
  void (*finish)(ReadContext& context);
  /// May be null: the format cannot be written.
  void (*write)(const CrowdData& data, const std::string& path, WriteReport& report);
};

/// All formats; detection asks in this order.
[[nodiscard]] const std::vector<CrowdFormat>& all_crowd_formats();
/// Throws DataError, with the nearest name, for an unknown one.
[[nodiscard]] const CrowdFormat& crowd_format(const std::string& name);

/// CrowdFormat::read for formats of one file: opens it and calls parse in the lenient log's care, so that a file that
/// breaks off is reported and what came before is kept.
void read_one_file(const std::string& path, ReadContext& context,
                   void (*parse)(std::istream& in, const std::string& name, ReadContext& context));

/// Runs body; in lenient mode a DataError becomes a problem of kind unreadable_file.
void guarded(ReadContext& context, const std::function<void()>& body);

/// Adds to the report unless count is 0.
void add_loss(WriteReport& report, const char* what, std::size_t count);

}  // namespace bdc
