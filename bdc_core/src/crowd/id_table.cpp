#include "crowd/id_table.h"

#include <limits>

#include "base/composed.h"
#include "bdc/base/error.h"
#include "bdc/base/text.h"

namespace bdc {

RecordId RecordId::untyped(std::string_view text) {
  const auto value = parse_integer(text);
  if (value && std::to_string(*value) == text) return integer(*value);
  return string(text);
}

RecordId RecordId::from(const ExternalId& id) {
  if (id.is_integer) {
    if (const auto value = parse_integer(id.text)) return integer(*value);
  }
  return string(id.text);
}

ExternalId RecordId::external() const {
  if (is_integer) return {std::to_string(value), true};
  return {text, false};
}

std::string RecordId::shown() const {
  return is_integer ? std::to_string(value) : in_quotes(text);
}

std::int32_t IdTable::find(const RecordId& id) const {
  if (id.is_integer) {
    const auto found = integers_.find(id.value);
    return found == integers_.end() ? none : found->second;
  }
  const auto found = may_be_decomposed(id.text) ? strings_.find(composed(id.text)) : strings_.find(id.text);
  return found == strings_.end() ? none : found->second;
}

std::int32_t IdTable::add(const RecordId& id) {
  const std::size_t next = size();
  if (next > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw DataError("more than 2147483648 different ids");
  }
  const auto number = static_cast<std::int32_t>(next);
  if (id.is_integer) return integers_.try_emplace(id.value, number).first->second;
  if (may_be_decomposed(id.text)) return strings_.try_emplace(composed(id.text), number).first->second;
  return strings_.try_emplace(id.text, number).first->second;
}

}  // namespace bdc
