// The reader against another implementation: both accept the same texts, except for what the reader's contract states
// (NaN and infinities are numbers, limits on depth and on the length of numbers), and that the other one takes a zero
// byte for the end of the text.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bdc/base/json_stream.h"

namespace {

bool reader_accepts(const std::string& text) {
  try {
    std::istringstream in(text);
    bdc::JsonReader json(in, "in.json");
    json.skip();
    json.finish();
    return true;
  } catch (const bdc::DataError&) {
    return false;
  }
}

/// Reads everything by type, so that numbers and strings are decoded too.
void read_value(bdc::JsonReader& json) {
  using Type = bdc::JsonReader::Type;
  switch (json.peek()) {
    case Type::object:
      json.begin_object();
      while (json.next_member()) read_value(json);
      break;
    case Type::array:
      json.begin_array();
      while (json.next_element()) read_value(json);
      break;
    case Type::string:
      static_cast<void>(json.string());
      break;
    case Type::number:
      static_cast<void>(json.number_or_nan());
      break;
    case Type::boolean:
      static_cast<void>(json.boolean());
      break;
    case Type::null:
      json.null();
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  try {
    std::istringstream in(text);
    bdc::JsonReader json(in, "in.json");
    read_value(json);
    json.finish();
  } catch (const bdc::DataError&) {
  }
  const bool own_rules = text.find("NaN") != std::string::npos || text.find("Infinity") != std::string::npos ||
                         text.find_first_of("eE") != std::string::npos || text.find('\0') != std::string::npos ||
                         text.size() > 100;
  if (!own_rules && reader_accepts(text) != nlohmann::json::accept(text)) std::abort();
  return 0;
}
