#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "bdc/base/error.h"
#include "bdc/learn/annotator_posteriors.h"

/// Allowed: DataError with a message, or posteriors that can be inspected, written, read back and merged.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes), size));
  bdc::AnnotatorPosteriors posteriors;
  try {
    posteriors = bdc::read_annotator_posteriors(in, "annotators.json");
  } catch (const bdc::DataError& error) {
    if (std::string(error.what()).empty()) std::abort();
    return 0;
  }
  std::stringstream file;
  bdc::write_annotator_posteriors(file, posteriors);
  const bdc::AnnotatorPosteriors back = bdc::read_annotator_posteriors(file, "written");  // must not throw
  if (back.annotators.size() != posteriors.annotators.size()) std::abort();
  const bdc::AnnotatorPosteriors both = bdc::merge(posteriors, back);
  if (both.annotators.size() != posteriors.annotators.size()) std::abort();
  return 0;
}
