#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "crowd/format.h"

/// What the formats of many small files share: files named after images, and beside them sizes.csv (image, width,
/// height; id and label where they are not the image's file name) and classes.txt or data.yaml.
namespace bdc {

/// How a format refers to classes: by number from 0 (their id then), or by name (ids are then 1, 2, ...).
enum class ClassKeys { index, name };

/// Takes the classes that a file lists, unless the user has given a list for all. Throws DataError when another file
/// has listed others: a number would mean two classes.
void take_class_names(std::vector<std::string> names, const std::string& file, ReadContext& context);

/// The same with the list that lies in a folder (classes.txt, obj.names, data.yaml), if there is one.
void load_class_names(const std::string& folder, ReadContext& context);

/// Takes sizes.csv and classes.txt or data.yaml of the data's folder, where they exist: images and classes they list
/// are part of the data.
void load_sidecars(const std::string& folder, ReadContext& context, ClassKeys keys);
/// Makes the known class names classes of the data; called by parse functions, does its work once.
void use_class_names(ReadContext& context, ClassKeys keys);

/// A class as the text of a file names it: by number or by name. With known names anything else is unknown.
std::int32_t label_of(ReadContext& context, std::string_view text, ClassKeys keys, const RecordPlace& place);
/// CrowdFormat::finish for ClassKeys::name: classes get the ids 1, 2, ...
void number_classes(ReadContext& context);

/// The image that belongs to a file of that name (without extension). file: the image's file name when the format says
/// it. Its size is set where sizes.csv, or the image itself, tells.
std::int32_t image_of(ReadContext& context, std::string_view label_name, std::string_view file,
                      const RecordPlace& place);
/// {width, height} from options.sizes_csv or from the image file; zeros when unknown.
[[nodiscard]] std::pair<int, int> known_size(const ReadContext& context, std::string_view image);

/// Text files that labelling programs put beside label files: classes.txt, labels.txt, train.txt, val.txt, test.txt.
[[nodiscard]] bool is_reserved_label_name(const std::string& stem);
/// For writers: a unique file name (without extension) per image, from its file name or else its id. Throws DataError
/// when two images cannot be told apart.
[[nodiscard]] std::vector<std::string> label_names(const CrowdData& data);
/// Writes sizes.csv with all images.
void write_sizes_csv(const std::string& path, const CrowdData& data, const std::vector<std::string>& names);
/// Writes classes.txt with all class names.
void write_class_names(const std::string& path, const CrowdData& data, WriteReport& report);

/// Calls use(annotator, rows) for every assignment of an image, in order; rows are that annotator's annotations there.
void for_each_assignment(const CrowdData& data, std::size_t image,
                         const std::function<void(std::int32_t, const std::vector<std::size_t>&)>& use);

// Losses that several writers report.
void add_class_id_losses(const CrowdData& data, std::int64_t first_id, WriteReport& report);
void add_annotator_losses(const CrowdData& data, bool names_kept, bool unassigned_kept, WriteReport& report);
/// Strings that read back as integers, in formats without types.
void add_type_losses(const CrowdData& data, bool images, bool classes, bool annotators, WriteReport& report);
void add_truth_loss(const CrowdData& data, WriteReport& report);
/// For formats that always say who saw what: guessed assignments become stated ones.
void add_guessed_assignment_loss(const CrowdData& data, WriteReport& report);
/// What a folder per annotator, with classes numbered from first_class, cannot hold: all of the above.
void add_annotator_folder_losses(const CrowdData& data, std::int64_t first_class, bool image_ids, WriteReport& report);
/// Images that nobody saw, for formats that list only images that were seen.
void add_unseen_image_loss(const CrowdData& data, WriteReport& report);
/// Throws DataError when two classes have the same name, which a format by names cannot tell apart.
void require_distinct_class_names(const CrowdData& data, const char* format);

/// Opens a file for writing inside an AtomicFolder; throws std::system_error.
void write_text_file(const std::string& path, const std::string& text);
/// Makes a folder; throws DataError when it exists (two annotators whose ids are the same text).
void make_folder(const std::string& path);

}  // namespace bdc
