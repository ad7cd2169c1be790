#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "bdc/base/error.h"
#include "bdc/crowd/decisions.h"

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

/// Allowed: DataError with a message, or decisions about images and classes that there are, with boxes that are boxes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const bdc::CrowdData labels = crowd();
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes), size));
  try {
    for (const bdc::Decision& d : bdc::read_decisions(in, "decisions.json", labels).list) {
      if (d.image < 0 || d.image > 1 || !d.box.valid() || (d.place && !d.place->valid())) std::abort();
      if (d.object && (d.label < 0 || d.label > 1)) std::abort();
      if (!d.object && !d.place) std::abort();
    }
  } catch (const bdc::DataError& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return 0;
}
