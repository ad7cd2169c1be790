#include "crowd/person_members.h"

#include "bdc/base/text.h"

namespace bdc {

void PersonMembers::tell(const std::string& file, const std::string& what, ReadContext& context) const {
  for (const auto& [key, values] : values_) {
    const std::size_t different = values.different.size();
    // One of attributes.annotator says more of the file than its name does.
    const std::size_t dot = key.find('.');
    const bool is_named = dot != std::string::npos && resembles_annotator_id(key.substr(dot + 1));
    if (different == 0 || (different < 2 && !is_named)) continue;
    if (different > Values::few || (2 * different > values.count + 2 && !is_named)) continue;
    context.note(file + ": the member " + in_quotes(key) + " of the " + what + (ends_with(what, "x") ? "es" : "s") +
                 " has " + counted(different, "different value") + " (on " + std::to_string(values.count) + " of " +
                 counted(records_, what, ends_with(what, "x") ? what + "es" : "") +
                 ") and may say who drew; it is not used. If it does, add --annotator-key " + printable(key));
  }
}

}  // namespace bdc
