#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/crowd_io.h"
#include "bdc/crowd/problems.h"
#include "crowd/id_table.h"

namespace bdc {

/// Takes records in the order a reader meets them and makes a CrowdData of them. References may come before the
/// definition of what they refer to, so one pass over a file is enough; what is never defined is reported by finish().
/// Every record that cannot be used goes to the ProblemLog: strict throws, lenient leaves the record out.
class CrowdBuilder {
 public:
  CrowdBuilder(BoxRole role, ProblemLog& problems, bool keep_places);

  /// Records that follow come from this file. The same id twice in one file is a duplicate; in two files it is the same
  /// thing and must not contradict.
  void begin_file(const std::string& name);
  /// Ids of images, or of classes, mean something inside their file only; finish() ties those of several files by name.
  void files_have_own_ids(bool images, bool classes);
  [[nodiscard]] RecordPlace place(std::size_t line, const char* list = "", std::size_t index = 0) const;

  // Definitions.
  void define_image(const RecordId& id, std::string_view file, std::int64_t width, std::int64_t height,
                    const RecordPlace& place);
  void define_class(const RecordId& id, std::string_view name, const RecordPlace& place);
  void define_annotator(const RecordId& id, std::string_view name, const RecordPlace& place);

  // References: a number to be used below. `field` names the reference in messages ("image_id").
  std::int32_t image(const RecordId& id, const char* field, const RecordPlace& place);
  std::int32_t label(const RecordId& id, const char* field, const RecordPlace& place);
  std::int32_t annotator(const RecordId& id, const char* field, const RecordPlace& place);

  // Reference and definition in one, for formats that only mention things.
  std::int32_t mention_image(const RecordId& id, std::string_view file, const RecordPlace& place);
  std::int32_t mention_class(const RecordId& id, std::string_view name, const RecordPlace& place);
  std::int32_t mention_annotator(const RecordId& id, std::string_view name, const RecordPlace& place);
  /// A class that a record names by both id and name: the two must always go together.
  std::int32_t named_class(const RecordId& id, std::string_view name, const RecordPlace& place);
  /// Every annotator that was referred to but not defined becomes defined, without a name.
  void define_mentioned_annotators();
  /// Sets an image's size; a different size that is known already is a conflict.
  void set_image_size(std::int32_t image, std::int64_t width, std::int64_t height, const RecordPlace& place);
  /// Gives a defined image without a file name one.
  void name_image_file(std::int32_t image, const std::string& file);
  [[nodiscard]] bool has_size(std::int32_t image) const;
  /// {width, height} of a defined image; zeros when unknown.
  [[nodiscard]] std::pair<int, int> size(std::int32_t image) const;

  /// A box drawn by `annotator` (crowd) or a true box (role truth). Boxes that are not finite, beyond the limits of
  /// box_limits.h, inverted or, for the crowd, empty are reported and left out.
  void add_box(std::int32_t image, std::int32_t label, std::int32_t annotator, const Box& box,
               const RecordPlace& place);
  /// A true box, whatever the role. area < 0: the box's area. xywh (may be null): the file's own numbers.
  void add_truth(std::int32_t image, std::int32_t label, const Box& box, bool is_crowd, double area,
                 const RecordPlace& place, const std::array<double, 4>* xywh = nullptr);
  void add_assignment(std::int32_t image, std::int32_t annotator, const RecordPlace& place);
  /// Nobody labels an image twice: finish() reports who does. Called before the first assignment.
  void expect_one_assignment_each() { one_each_ = true; }
  /// The files say who saw what.
  void assignments_are_known() { assignments_known_ = true; }
  /// Truth looked at this image. Without any such call (or truth_coverage_is_listed) truth covers all images.
  void truth_covers(std::int32_t image) {
    coverage_listed_ = true;
    truth_covered_.push_back(image);
  }
  void truth_coverage_is_listed() { coverage_listed_ = true; }
  void has_truth() { has_truth_ = true; }

  /// Calls use(number) for each image defined in the file now being read.
  void for_images_of_this_file(const std::function<void(std::int32_t)>& use) const;
  /// Several records of one file are the same image when their annotators differ: finish() ties them by name.
  void image_is_annotators(std::int32_t image, std::int32_t annotator);
  /// The number of boxes so far, and a way to say who drew those from `first` on for which it is not known (-1). Those
  /// that nobody drew when all is read are left out: `who` threw, and the error was reported.
  [[nodiscard]] std::size_t boxes() const { return annotations_.size(); }
  void set_annotators(std::size_t first, const std::function<std::int32_t(std::int32_t image)>& who);
  /// Lets a reader change image records at the end (ids, sizes).
  [[nodiscard]] std::vector<ImageRecord>& image_records() { return images_.records; }
  [[nodiscard]] std::vector<ClassRecord>& class_records() { return classes_.records; }

  [[nodiscard]] ProblemLog& problems() { return problems_; }
  [[nodiscard]] BoxRole role() const { return role_; }
  [[nodiscard]] std::string text(const RecordPlace& place) const { return report_.text(place); }
  void report(ProblemKind kind, const RecordPlace& place, const std::string& message);

  /// The data, finalized; `report` (may be null) receives files and places. The builder is empty afterwards.
  [[nodiscard]] CrowdData finish(ReadReport* report);
  /// Says that so many images were tied to others by their names before Roboflow's export.
  void tell_versions(std::size_t tied);
  /// What finish() did that people should know.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Mention {
    RecordId id;
    const char* field = "";
    RecordPlace first;
    std::int32_t record = -1;  // index into records; -1: not defined (yet)
    std::uint32_t file = 0;    // where it was defined last
    std::uint32_t source = 0;  // inside which ids mean one thing; the file, where files have their own ids
  };
  template <class Record>
  struct List {
    const char* what;
    const char* plural;
    ProblemKind unknown;
    IdTable table;
    std::vector<Mention> mentions;
    std::vector<Record> records;
    bool identity = true;   // mention i is record i
    bool own_ids = false;   // of each file
    std::int32_t base = 0;  // the mention of the table's first id
    bool tied = false;      // records may be the same by name
  };

  template <class Record>
  std::int32_t refer(List<Record>& list, const RecordId& id, const char* field, const RecordPlace& place);
  /// True when the id is new, so the record must be appended.
  template <class Record>
  bool define(List<Record>& list, const RecordId& id, const RecordPlace& place, std::int32_t& number);
  template <class Record>
  std::int32_t resolved(List<Record>& list, std::int32_t number, const RecordPlace& place);
  /// Makes records that are the same by name one record.
  template <class Record>
  void tie(List<Record>& list);
  /// Who saw all the images of each source; -1: several people, or nobody is known.
  [[nodiscard]] std::map<std::uint32_t, std::int32_t> annotators_of_sources() const;
  /// Leaves out the boxes for which it was never known who drew them.
  void leave_out_anonymous();
  /// Reports assignments that stand there twice; their images and annotators are resolved.
  void check_repeated_assignments();
  template <class Record>
  std::string unknown_message(const List<Record>& list, const Mention& mention, const RecordPlace& place) const;

  BoxRole role_;
  ProblemLog& problems_;
  bool keep_places_;
  ReadReport report_;
  List<ImageRecord> images_{"image", "images", ProblemKind::unknown_image, {}, {}, {}};
  List<ClassRecord> classes_{"class", "classes", ProblemKind::unknown_class, {}, {}, {}};
  List<AnnotatorRecord> annotators_{"annotator", "annotators", ProblemKind::unknown_annotator, {}, {}, {}};
  std::vector<Annotation> annotations_;
  std::vector<Assignment> assignments_;
  std::vector<RecordPlace> assignment_place_;  ///< of each assignment, when places are kept or one_each_
  std::vector<TruthBox> truth_;
  std::vector<std::int32_t> truth_covered_;
  std::vector<std::string> notes_;
  std::uint32_t source_ = 0, sources_ = 1;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> annotator_sources_;
  bool assignments_known_ = false, one_each_ = false;
  bool has_truth_ = false;
  bool coverage_listed_ = false;
};

}  // namespace bdc
