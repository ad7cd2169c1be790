#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "crowd/label_studio_predictions.h"

// What is made of any bytes is JSON, or there is an error with a message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes), size));
  std::string results;
  try {
    results = bdc::label_studio_predictions(in, "in.json");
  } catch (const bdc::DataError& error) {
    if (std::string(error.what()).empty()) std::abort();
    return 0;
  }
  std::istringstream again(results);
  bdc::JsonReader json(again, "results.json");
  json.skip();
  json.finish();
  return 0;
}
