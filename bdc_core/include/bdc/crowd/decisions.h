#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"

namespace bdc {

/// The word of a trusted person about one place of an image.
struct Decision {
  std::int32_t image = 0;
  bool object = false;       ///< false: nothing is there
  Box box;                   ///< of the object, pixels; without one: the place
  std::int32_t label = -1;   ///< class of the object
  std::optional<Box> place;  ///< the box that was judged; nothing for an object that was drawn anew
  /// Where it was judged: the place, or what was drawn anew.
  [[nodiscard]] const Box& at() const { return place ? *place : box; }
};

/// Decisions of one or several people, sorted by image.
struct Decisions {
  std::vector<Decision> list;
  std::vector<std::string> contradictions;  ///< sentences; what they are about is not in the list
};

/// What the report's page saves: JSON with "format": "bdc_decisions", "version": 1 and "decisions", each with image_id,
/// file_name, verdict ("object" or "nothing"), place and, of objects, bbox and category; boxes as x, y, width, height.
/// Images are found by id, and their file names must be the same; classes by name. Where decisions of two files are
/// about one place (each the other's nearest, IoU of at least 0.5), they must agree in verdict and class: then the box
/// is the mean; otherwise neither counts, and a contradiction names both. Throws DataError, with the file and what is
/// wrong, for anything else.
[[nodiscard]] Decisions read_decisions(const std::vector<std::string>& files, const CrowdData& crowd);
/// One file from a stream; `name` is its name in messages.
[[nodiscard]] Decisions read_decisions(std::istream& in, const std::string& name, const CrowdData& crowd);

}  // namespace bdc
