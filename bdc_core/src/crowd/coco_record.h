#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bdc/base/json_stream.h"
#include "bdc/crowd/box.h"
#include "crowd/id_table.h"

namespace bdc {

/// One element of COCO's `annotations`, or of a results list, with the fields that bdc adds.
/// Reused from record to record so that reading allocates nothing.
struct CocoRecord {
  std::size_t line = 0;        ///< where the record starts
  std::size_t index = 0;       ///< in its list
  bool wants_id = false;       ///< set by the caller: read `id`, too
  std::optional<RecordId> id;  ///< none when it is neither a whole number nor a string; nothing refers to it
  std::optional<RecordId> image_id, category_id, annotator_id;
  std::string annotator_key = "annotator_id";  ///< set by the caller: the member that annotator_id is read from
  /// Set by the caller: looks for other members that seem to name an annotator.
  bool wants_candidates = false;
  struct Candidate {
    std::string key;
    std::optional<RecordId> id;  ///< none when the value is no id
  };
  std::vector<Candidate> candidates;
  std::vector<Candidate> persons;             ///< members by may_name_person, looked for with the candidates
  std::string person_list;                    ///< a member that lists several people ("annotators"); empty: none does
  std::optional<std::array<double, 4>> bbox;  ///< x, y, width, height; may hold NaN
  bool wants_shape = false;                   ///< set by the caller: finds the box around `segmentation`
  bool has_shape = false;                     ///< there is a `segmentation`
  bool may_lack_box = false;                  ///< set by the caller: a record with `segmentation` needs no `bbox`
  bool may_be_bare = false;                   ///< set by the caller: nor does one without
  std::optional<Box> shape;                   ///< the box around it, where that can be told
  std::optional<double> score, area, weight, existence, located;
  std::vector<double> class_probs;  ///< empty: not given
  std::vector<double> box_std;
  bool is_crowd = false;
  bool is_deleted = false;    ///< taken back in coco-annotator
  bool corners_said = false;  ///< `bbox_mode` says that the file has x1, y1, x2, y2
  double rotation = 0;        ///< attributes.rotation: of the box about its centre, in degrees, clockwise

  [[nodiscard]] Box box() const { return {(*bbox)[0], (*bbox)[1], (*bbox)[0] + (*bbox)[2], (*bbox)[1] + (*bbox)[3]}; }
};

/// An id: a whole number or a string.
[[nodiscard]] RecordId read_id(JsonReader& json);
/// The same for a value that need not be an id, such as null; an object may hold one as "id" or "email".
[[nodiscard]] std::optional<RecordId> read_optional_id(JsonReader& json);

/// An object in an annotation, such as "attributes", as CVAT and Datumaro write it: `rotation`, the annotator where
/// annotator_key is "attributes.NAME", and, where these are wanted, members that may say who drew, into `persons`.
/// owner: the name of the member that holds the object.
void read_attributes(JsonReader& json, CocoRecord& record, const std::string& owner = "attributes");

/// Reads the object that comes next. Throws JsonValueError when image_id, category_id or bbox is missing or wrong.
void read_coco_record(JsonReader& json, CocoRecord& record);

/// Whether a member's name looks as if it were meant to be annotator_id: "annotator", "worker_id", "anotator_id".
[[nodiscard]] bool resembles_annotator_id(std::string_view key);

/// Whether a member's name is one for a list of annotators: "annotators", "rater_list".
[[nodiscard]] bool lists_annotators(std::string_view key);

/// Whether a member's name, though no usual one for an annotator's, may mean a person: "rad_id", "created_by",
/// "reader". Nothing is read on such a guess; people are told of it.
[[nodiscard]] bool may_name_person(std::string_view key);

/// Numbers of the array that comes next; may hold NaN. Throws JsonValueError for more than `limit`.
void read_numbers(JsonReader& json, std::vector<double>& out, std::size_t limit);

/// Width w (or height) with few digits for which low + w == high in double arithmetic, so that a box written as
/// x, y, w, h reads back with the same corners; there always is one for a box that was read so. high - low where no
/// double does that (then one rounding off).
[[nodiscard]] double written_extent(double low, double high);
/// Writes "bbox":[x,y,w,h].
void write_bbox(JsonWriter& json, const Box& box);
/// Writes an id as the integer or string it was.
void write_id(JsonWriter& json, const ExternalId& id);

}  // namespace bdc
