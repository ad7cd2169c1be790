#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "crowd/coco_record.h"
#include "crowd/format.h"
#include "crowd/id_table.h"

namespace bdc {

/// Members of records that nobody asked for and that may say who drew: people are told of those that may tell
/// annotators apart.
class PersonMembers {
 public:
  /// A record's members. Call for every record.
  void add(const std::vector<CocoRecord::Candidate>& persons) {
    ++records_;
    for (const CocoRecord::Candidate& person : persons) {
      if (person.id) values_[person.key].add(*person.id);
    }
  }

  /// `what`: what has the members ("annotation").
  void tell(const std::string& file, const std::string& what, ReadContext& context) const;

 private:
  /// The different values of a member, as far as they are few.
  struct Values {
    static constexpr std::size_t few = 200;
    std::size_t count = 0;
    IdTable different;
    void add(const RecordId& id) {
      ++count;
      if (different.size() <= few) static_cast<void>(different.add(id));
    }
  };
  std::map<std::string, Values> values_;
  std::size_t records_ = 0;
};

}  // namespace bdc
