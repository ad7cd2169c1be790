#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/problems.h"

namespace bdc {

/// What the boxes of a file are: drawn by annotators, or the truth (CrowdData::truth; annotators are ignored).
enum class BoxRole { crowd, truth };

/// What names the annotator of boxes whose file does not hold annotators.
enum class AnnotatorFrom {
  automatic,  ///< what the file says; else its name, or the first folder that tells the files apart
  assignee,   ///< CVAT: the assignee of the job or task, and nothing else
  file,       ///< the file's name (formats of one folder per annotator: the folder's)
  folder,     ///< the first folder that tells the files apart
  key         ///< a member of each record, and nothing else
};

struct ReadOptions {
  std::string format;  ///< a name of crowd_formats(); empty: detected from the content
  BoxRole role = BoxRole::crowd;
  std::string sizes_csv;     ///< `image,width,height`, for formats that lack image sizes
  std::string image_folder;  ///< or take the sizes from the PNG and JPEG files here
  std::string class_names;   ///< classes.txt (a name per line) or data.yaml, for formats that lack names
  std::string annotator;     ///< who drew, for a file that does not say; empty: annotator_from says it
  AnnotatorFrom annotator_from = AnnotatorFrom::automatic;
  std::string annotator_key;       ///< the member of COCO's annotations that names the annotator; empty: found
  std::string split;               ///< "train", "val" or "test": only that part of data that are divided; empty: all
  std::string columns;             ///< the format "csv": image=TITLE,class=TITLE,x1=TITLE,...; empty: by common titles
  bool voc_one_based = false;      ///< Pascal VOC pixels count from 1, last one included (VOC's own files)
  bool shapes_to_boxes = false;    ///< polygons, masks and the like become the upright boxes around them; else left out
  ProblemLog* problems = nullptr;  ///< lenient reading; null: the first error throws DataError
  /// Receives what was taken where files leave a choice, for people, a line each; may be null.
  std::vector<std::string>* notes = nullptr;
};

/// Where a record stood, for messages of later checks.
struct RecordPlace {
  std::uint32_t file = 0;  ///< index into ReadReport::files
  std::uint64_t line = 0;  ///< from 1; 0: unknown
  const char* list = "";   ///< "annotations" for annotations[index]; empty: the format has no such path
  std::uint64_t index = 0;
};

/// What else a reader knows. Filled when a pointer to one is handed over.
struct ReadReport {
  std::string format;                         ///< the format that was used
  std::vector<std::string> files;             ///< all files that were read
  std::vector<RecordPlace> annotation_place;  ///< one per CrowdData::annotations, same order
  std::vector<RecordPlace> truth_place;       ///< one per CrowdData::truth
  /// One per CrowdData::truth: left, top, width, height with the very bits a COCO file states (width and height of the
  /// box for other formats). What COCO evaluation compares.
  std::vector<std::array<double, 4>> truth_xywh;
  std::vector<RecordPlace> image_place, class_place, annotator_place;  ///< where each was defined

  /// "file:line: annotations[3]"
  [[nodiscard]] std::string text(const RecordPlace& place) const;
};

/// The name of the format that a file or folder is of, as read_crowd finds it; "" when none fits.
[[nodiscard]] std::string detected_format(const std::string& path);

/// Which of "train", "val" and "test" a path is divided into: a data.yaml that names them, or a folder with folders
/// called so (train, valid, val2017, ...) or files (instances_train.json, ...), below "labels" and annotators' folders,
/// too. Empty for anything else. format: as ReadOptions::format.
[[nodiscard]] std::vector<std::string> label_splits(const std::string& path, const std::string& format = {});

/// The folder with the pictures that a data.yaml names (image_dir of BDC's authors), where it can be found; else empty.
[[nodiscard]] std::string pictures_of_labels(const std::string& path);

/// Reads files or folders of one format into one data set. Several paths are merged: images, classes and annotators
/// with the same id are the same. A path of another format than the first is refused unless options.format names the
/// format. Throws DataError (file, place, expected, found) unless options.problems is lenient;
/// then records that cannot be used are counted there and left out.
[[nodiscard]] CrowdData read_crowd(const std::vector<std::string>& paths, const ReadOptions& options = {},
                                   ReadReport* report = nullptr);

/// The same for one file that is in memory; options.format must be named. `name` stands for the file in messages.
[[nodiscard]] CrowdData parse_crowd(std::istream& in, const std::string& name, const ReadOptions& options,
                                    ReadReport* report = nullptr);

/// Something the written format cannot hold.
struct Loss {
  std::string what;  ///< "assignments without a box"
  std::size_t count = 0;
  /// "12 assignments without a box", "1 assignment without a box"
  [[nodiscard]] std::string text() const;
};

struct WriteReport {
  std::vector<Loss> losses;
  /// For people: one line per loss, "  12 assignments without a box"; empty when nothing is lost.
  [[nodiscard]] std::string text() const;
};

/// Writes data to `path` (a file, or a new folder for formats of many files). format: a name of crowd_formats(); empty:
/// by the extension (.json: crowd, .csv: vindr). The file or folder appears complete or not at all.
/// Throws DataError when the format cannot be written or two images would share a file.
WriteReport write_crowd(const CrowdData& data, const std::string& path, const std::string& format = {});

/// A row of the table of formats, for help texts.
struct CrowdFormatInfo {
  std::string name, description;
  bool can_write = false;
};
[[nodiscard]] std::vector<CrowdFormatInfo> crowd_formats();

}  // namespace bdc
