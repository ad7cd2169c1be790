// The table of methods. A new method is one file in this folder that defines `MethodEntry <name>_method()`, and one
// line below; a new profile of BDC likewise, `MethodEntry <name>_profile()`.
#include "bdc/learn/method.h"

#define BDC_METHODS(X) \
  X(na)                \
  X(mv)                \
  X(wbf)               \
  X(earl)              \
  X(nms)               \
  X(soft_nms)          \
  X(nmw)               \
  X(bdc)

#define BDC_PROFILES(X) \
  X(absence_aware)      \
  X(reference)          \
  X(paper)

namespace bdc {

#define BDC_DECLARE(name) MethodEntry name##_method();
BDC_METHODS(BDC_DECLARE)
#undef BDC_DECLARE
#define BDC_DECLARE(name) MethodEntry name##_profile();
BDC_PROFILES(BDC_DECLARE)
#undef BDC_DECLARE

const std::vector<MethodEntry>& aggregation_methods() {
#define BDC_ENTRY(name) name##_method(),
  static const std::vector<MethodEntry> table{BDC_METHODS(BDC_ENTRY)};
#undef BDC_ENTRY
  return table;
}

const std::vector<MethodEntry>& bdc_profiles() {
#define BDC_ENTRY(name) name##_profile(),
  static const std::vector<MethodEntry> table{BDC_PROFILES(BDC_ENTRY)};
#undef BDC_ENTRY
  return table;
}

}  // namespace bdc
