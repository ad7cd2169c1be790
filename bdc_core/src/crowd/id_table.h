#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bdc/crowd/crowd_data.h"

namespace bdc {

/// An id as a reader meets it, without memory of its own for integers.
struct RecordId {
  bool is_integer = true;
  std::int64_t value = 0;
  std::string text;  ///< only when not an integer

  [[nodiscard]] static RecordId integer(std::int64_t value) { return {true, value, {}}; }
  [[nodiscard]] static RecordId string(std::string_view text) { return {false, 0, std::string(text)}; }
  /// From a format without types: an integer when the text is exactly how an integer is written ("12", not "012").
  [[nodiscard]] static RecordId untyped(std::string_view text);
  [[nodiscard]] static RecordId from(const ExternalId& id);

  [[nodiscard]] ExternalId external() const;
  /// For messages: 12 or "12".
  [[nodiscard]] std::string shown() const;
};

/// Dense numbers for ids, in the order of first sight. Integers and strings are different ids; strings are the same
/// whether marks are characters of their own in them or not (base/composed.h).
class IdTable {
 public:
  static constexpr std::int32_t none = -1;
  /// The id's number; none when it is new.
  [[nodiscard]] std::int32_t find(const RecordId& id) const;
  /// The id's number, a new one when it is new. Throws DataError beyond 2^31 - 1 ids.
  std::int32_t add(const RecordId& id);
  [[nodiscard]] std::size_t size() const { return integers_.size() + strings_.size(); }

 private:
  std::unordered_map<std::int64_t, std::int32_t> integers_;
  std::unordered_map<std::string, std::int32_t> strings_;
};

/// A value for each id.
template <class Value>
class IdMap {
 public:
  /// The last value that is set counts.
  void set(const RecordId& id, Value value) {
    const auto number = static_cast<std::size_t>(table_.add(id));
    if (number == values_.size()) values_.emplace_back();
    values_[number] = std::move(value);
  }
  /// Null when the id has none.
  [[nodiscard]] const Value* find(const RecordId& id) const {
    const std::int32_t number = table_.find(id);
    return number == IdTable::none ? nullptr : &values_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] bool empty() const { return values_.empty(); }

 private:
  IdTable table_;
  std::vector<Value> values_;
};

/// The numbers of a list of records that have an `id`.
template <class Record>
[[nodiscard]] IdTable index_of(const std::vector<Record>& records) {
  IdTable table;
  for (const Record& record : records) table.add(RecordId::from(record.id));
  return table;
}

}  // namespace bdc
