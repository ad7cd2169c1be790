#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"

namespace bdc {

/// What people cost and what they can do. Empty lists: everybody costs 1, has time, and may see everything.
struct LookTerms {
  std::vector<double> cost;          ///< of one look, by annotator; above 0
  std::vector<double> looks;         ///< how many looks each has time for; negative: as many as wanted
  std::vector<Assignment> excluded;  ///< who may not see which image
};

/// A CSV with the columns annotator (id or name), cost and looks, of which one of the last two may be missing; an empty
/// field is as if the person were not listed. Returns how many people are listed. Throws DataError "file:line: ..." for
/// other columns, for somebody unknown, ambiguous or listed twice, and for numbers that are none.
std::size_t read_look_costs(const std::string& file, const CrowdData& crowd, LookTerms& terms);
/// The same from a stream; `name` is its name in messages.
std::size_t read_look_costs(std::istream& in, const std::string& name, const CrowdData& crowd, LookTerms& terms);

/// A CSV with the columns annotator and image (id or file name): who may not see which image. Returns how many rows.
/// Throws DataError as above.
std::size_t read_exclusions(const std::string& file, const CrowdData& crowd, LookTerms& terms);
std::size_t read_exclusions(std::istream& in, const std::string& name, const CrowdData& crowd, LookTerms& terms);

}  // namespace bdc
