#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "bdc/base/error.h"
#include "bdc/crowd/look_terms.h"

namespace {

/// Two images, two classes, two annotators.
bdc::CrowdData crowd() {
  bdc::CrowdData out;
  out.images = {{{"1", true}, "1.png", 300, 200}, {{"b", false}, "b.png", 0, 0}};
  out.classes = {{{"1", true}, "cat"}, {{"2", true}, "dog"}};
  out.annotators = {{{"ann", false}, ""}, {{"bob", false}, "Bob, the second"}};
  out.finalize();
  return out;
}

}  // namespace

/// Allowed: DataError with a message, or terms of the annotators that there are.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const bdc::CrowdData labels = crowd();
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  bdc::LookTerms terms;
  try {
    std::istringstream in(text);
    (void)bdc::read_look_costs(in, "cost.csv", labels, terms);
    if (terms.cost.size() != 2 || terms.looks.size() != 2) std::abort();
    for (const double cost : terms.cost) {
      if (!(cost > 0)) std::abort();
    }
  } catch (const bdc::DataError& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  try {
    std::istringstream in(text);
    (void)bdc::read_exclusions(in, "never.csv", labels, terms);
    for (const bdc::Assignment& a : terms.excluded) {
      if (a.image < 0 || a.image > 1 || a.annotator < 0 || a.annotator > 1) std::abort();
    }
  } catch (const bdc::DataError& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
