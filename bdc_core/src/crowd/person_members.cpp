#include "crowd/person_members.h"

#include "bdc/base/text.h"

namespace bdc {

void PersonMembers::tell(const std::string& file, const std::string& what, ReadContext& context) const {
  for (const auto& [key, values] : values_) {
    const std::size_t different = values.different.size();
    // One of attributes.annotator says more of the file than its name does.
    const bool is_named = key.rfind("attributes.", 0) == 0 && resembles_annotator_id(key.substr(11));
    if (different == 0 || (different < 2 && !is_named)) continue;
    if (different > Values::few || (2 * different > values.count + 2 && !is_named)) continue;
    context.note(file + ": the member " + in_quotes(key) + " of the " + what + "s has " +
                 counted(different, "different value") + " (on " + std::to_string(values.count) + " of " +
                 counted(records_, what) + ") and may say who drew; it is not used. If it does, add --annotator-key " +
                 printable(key));
  }
}

}  // namespace bdc
