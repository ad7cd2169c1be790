#include <cstdlib>
#include <sstream>

#include "bdc/base/error.h"
#include "bdc/crowd/coco.h"

namespace {

bdc::CrowdData known() {
  bdc::CrowdData data;
  data.images = {{{"242287", true}, "a.jpg", 426, 640}, {{"245915", true}, "b.jpg", 640, 480}};
  data.classes = {{{"1", true}, "person"}, {{"2", true}, "bicycle"}};
  data.finalize();
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const bdc::CrowdData data = known();
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  try {
    std::istringstream in(text);
    const bdc::Predictions p = bdc::parse_predictions(in, "in.json", data);
    for (std::size_t n = 0; n < p.box.size(); ++n) {
      const double sum = p.class_probs[2 * n] + p.class_probs[2 * n + 1];
      if (!(sum > 0.999999 && sum < 1.000001) || !p.box[n].valid()) std::abort();
    }
  } catch (const bdc::DataError&) {
  }
  try {
    std::istringstream in(text);
    static_cast<void>(bdc::parse_targets(in, "in.json", data));
  } catch (const bdc::DataError&) {
  }
  return 0;
}
