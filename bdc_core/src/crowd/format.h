#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/crowd_io.h"
#include "crowd/crowd_builder.h"
#include "crowd/image_table.h"
#include "crowd/pictures.h"

namespace bdc {

/// What a format's functions work on while files are read.
struct ReadContext {
  ReadContext(const ReadOptions& read_options, CrowdBuilder& crowd_builder)
      : options(read_options), builder(crowd_builder) {}

  const ReadOptions& options;
  CrowdBuilder& builder;
  std::vector<std::string> paths;  ///< all that are read, as the user gave them
  std::size_t path = 0;            ///< which of them is being read
  /// What may be one annotator's: the paths, or the files below them where a format has a file per annotator.
  std::vector<std::string> sources;
  std::size_t source = 0;                  ///< which of them is being read
  bool sources_are_files = false;          ///< set by read_each_file
  std::vector<std::string> path_splits;    ///< the split (train, val, test) of each path that is a part of divided data
  std::vector<std::string> source_splits;  ///< the same of each source
  bool only_lists = false;                 ///< label_splits: files are listed, none is read
  std::set<std::string> splits_seen;       ///< of all data
  std::optional<ImageTable> sidecar;       ///< sizes.csv of the folder being read
  std::optional<ImageTable> sizes;         ///< options.sizes_csv
  std::optional<ImageFolder> image_folder;  ///< options.image_folder
  std::vector<std::string> class_names;     ///< options.class_names or what lies in the data's folder
  std::string class_names_file;             ///< where the latter were found
  bool class_names_known = false, class_names_used = false;
  bool classes_with_ids = false, classes_without_ids = false;  ///< of VinDr-CXR's tables: whether files number theirs
  std::size_t key_numbers = 0;  ///< of YOLO's lines: numbers of key points that follow the box
  std::size_t with_key_points = 0;
  bool split_used = false;  ///< the data are divided, so that options.split means something
  /// Numbers that files give to images which are known by their names (CVAT); finish() decides whether to use them.
  std::vector<std::pair<std::int32_t, std::int64_t>> image_numbers;
  Pictures pictures;
  /// Of formats that know images by the names of their label files: a name as Roboflow exports it, by the name before.
  struct Version {
    std::string name, annotator;
    bool alone = true;  ///< the annotator has no other version of it
  };
  std::map<std::string, Version> versions;
  std::size_t versions_tied = 0;
  std::map<std::string, std::vector<std::string>>
      manifests;  ///< of Ground Truth's jobs: the images' addresses, by path

  /// Who drew what the source now being read holds, when it does not say: options.annotator, or else what the sources'
  /// paths tell. Throws DataError when they do not.
  [[nodiscard]] std::string source_annotator();
  /// The same for a file whose name every data set's has ("labels.json", "annotations/default.json"): then the
  /// folder's.
  [[nodiscard]] std::string dataset_annotator(const std::string& file);
  /// Counts a shape that is no box ("a <polygon>"). True: the upright box around it is wanted.
  [[nodiscard]] bool takes_shape(const RecordPlace& place, const std::string& what);
  /// The same for what has no box around it, or none that can be told.
  void leave_shape(const RecordPlace& place, const std::string& what);
  /// The upright box around one that is turned clockwise about (x, y), counted; the box itself for 0 degrees.
  [[nodiscard]] Box upright(const Box& box, double x, double y, double degrees, const RecordPlace& place);
  /// The same about the box's centre.
  [[nodiscard]] Box upright(const Box& box, double degrees, const RecordPlace& place) {
    return upright(box, (box.x1 + box.x2) / 2, (box.y1 + box.y2) / 2, degrees, place);
  }
  /// Files of the data that were read, or left out on purpose, which was said.
  std::unordered_set<std::string> accounted;
  std::size_t shapes_taken = 0, shapes_left = 0;
  /// Counts what is no box and no shape either ("label of a whole image") and is left out.
  void leave_out(const std::string& one, const std::string& many) {
    auto& entry = left_out[one];
    entry.first = many;
    ++entry.second;
  }
  std::map<std::string, std::pair<std::string, std::size_t>> left_out;  ///< plural and count, by the singular
  std::size_t scored = 0;  ///< boxes that have a detector's score and were taken for an annotator's
  /// A person's box may say that it is sure: 1 is no detector's score.
  void saw_score(double score) { scored += score < 1 || score > 1 ? 1 : 0; }
  std::string refusal;        ///< why no box can be used, although the file could be read
  bool unit_said = false;     ///< the user says that numbers are pixels
  std::string shares_advice;  ///< what to do where they may be shares; empty: the same as for most formats
  std::vector<std::string> named_after_folders;  ///< of the sources' annotators, whether they are used or not
  /// The data below a place are divided into these splits; those without one are empty. Throws DataError when
  /// options.split is none of them.
  void saw_splits(const std::string& place, const std::vector<std::string>& splits);
  /// Whether what is of this split is to be read.
  [[nodiscard]] bool wants_split(const std::string& split) const {
    return !only_lists && (options.split.empty() || split.empty() || split == options.split);
  }
  /// For people; a note that is there already is not repeated.
  void note(const std::string& text);

 private:
  std::optional<std::vector<std::string>> source_annotators_;
};

/// The reading options that say something to a format; the others are refused.
struct OptionsTaken {
  bool columns = false, class_names = false, one_based = false, annotator_key = false;
  bool assignee = false, from_key = false;  ///< values of annotator_from
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
  /// Every file numbers its images, or its classes, on its own: those of several files are tied by name.
  bool own_image_ids = false, own_class_ids = false;
  OptionsTaken takes = {};
};

/// All formats; detection asks in this order.
[[nodiscard]] const std::vector<CrowdFormat>& all_crowd_formats();
/// Throws DataError, with the nearest name, for an unknown one.
[[nodiscard]] const CrowdFormat& crowd_format(const std::string& name);

/// The format whose detect accepts the path; null when none does.
[[nodiscard]] const CrowdFormat* detected_crowd_format(const std::string& path);

/// CrowdFormat::read for formats of one file: opens it and calls parse in the lenient log's care, so that a file that
/// breaks off is reported and what came before is kept.
void read_one_file(const std::string& path, ReadContext& context,
                   void (*parse)(std::istream& in, const std::string& name, ReadContext& context));

/// CrowdFormat::read for formats with a file per annotator: reads the file, or every file below the folder, as a source
/// of its own.
void read_each_file(const std::string& path, ReadContext& context, std::initializer_list<std::string_view> extensions,
                    void (*parse)(std::istream& in, const std::string& name, ReadContext& context));

/// The same, where files_of tells which files below a folder hold labels.
void read_each_of(const std::string& path, ReadContext& context,
                  const std::function<std::vector<std::string>(const std::string& folder)>& files_of,
                  void (*parse)(std::istream& in, const std::string& name, ReadContext& context));

/// Runs body; in lenient mode a DataError becomes a problem of kind unreadable_file.
void guarded(ReadContext& context, const std::function<void()>& body);

/// Adds to the report unless count is 0.
void add_loss(WriteReport& report, const char* what, std::size_t count);

}  // namespace bdc
