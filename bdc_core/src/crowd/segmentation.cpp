#include "crowd/segmentation.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crowd/box_around.h"

namespace bdc {
namespace {

constexpr std::int64_t max_extent = 1 << 20;
constexpr std::size_t max_runs = 1 << 26;

std::optional<Box> read_polygons(JsonReader& json) {
  BoxAround around;
  bool good = true;
  json.begin_array();
  while (json.next_element()) {
    double x = 0;
    bool half = false;
    json.begin_array();
    while (json.next_element()) {
      const double value = json.number_or_nan();
      if (half) around.add(x, value);
      x = value;
      half = !half;
    }
    good = good && !half;
  }
  return good ? around.box() : std::nullopt;
}

/// COCO's text form of runs: six bits per character from '0' on, the sixth says that more follow, and from the third
/// run on the difference to the run before the last.
std::optional<std::vector<std::int64_t>> decoded_runs(std::string_view text) {
  std::vector<std::int64_t> runs;
  for (std::size_t at = 0; at < text.size();) {
    std::int64_t value = 0;
    int shift = 0;
    bool more = true;
    while (more) {
      if (at == text.size() || shift > 55) return std::nullopt;
      const int digit = text[at++] - 48;
      if (digit < 0 || digit > 63) return std::nullopt;
      value |= static_cast<std::int64_t>(digit & 31) << shift;
      more = (digit & 32) != 0;
      shift += 5;
      if (!more && (digit & 16) != 0) value |= static_cast<std::int64_t>(~std::uint64_t{0} << shift);
    }
    if (value > (std::int64_t{1} << 40) || value < -(std::int64_t{1} << 40)) return std::nullopt;
    if (runs.size() > 2) value += runs[runs.size() - 2];
    runs.push_back(value);
  }
  return runs;
}

/// Runs of pixels outside and inside in turn, column by column.
std::optional<Box> box_of_runs(const std::vector<std::int64_t>& runs, std::int64_t height, std::int64_t width) {
  if (height <= 0 || width <= 0 || height > max_extent || width > max_extent) return std::nullopt;
  BoxAround around;
  std::int64_t at = 0;
  bool inside = false;
  for (const std::int64_t run : runs) {
    if (run < 0 || run > height * width - at) return std::nullopt;
    if (inside && run > 0) {
      const std::int64_t last = at + run - 1;
      const std::int64_t first_column = at / height, last_column = last / height;
      const bool several = first_column != last_column;  // then a whole column's worth of rows may be covered
      const std::int64_t top = several ? 0 : at % height, bottom = several ? height - 1 : last % height;
      around.add(static_cast<double>(first_column), static_cast<double>(top));
      around.add(static_cast<double>(last_column + 1), static_cast<double>(bottom + 1));
    }
    at += run;
    inside = !inside;
  }
  return around.box();
}

std::optional<Box> read_mask(JsonReader& json) {
  std::vector<std::int64_t> size, runs;
  std::optional<std::string> text;
  json.begin_object();
  while (json.next_member()) {
    if (json.key() == "size") {
      json.begin_array();
      while (json.next_element()) size.push_back(json.integer());
    } else if (json.key() == "counts" && json.peek() == JsonReader::Type::array) {
      json.begin_array();
      while (json.next_element()) {
        if (runs.size() == max_runs) json.fail_value("expected a mask of fewer runs");
        runs.push_back(json.integer());
      }
    } else if (json.key() == "counts") {
      text = json.string();
    } else {
      json.skip();
    }
  }
  if (text) {
    const auto decoded = decoded_runs(*text);
    if (!decoded) return std::nullopt;
    runs = *decoded;
  }
  return size.size() == 2 ? box_of_runs(runs, size[0], size[1]) : std::nullopt;
}

}  // namespace

std::optional<Box> read_segmentation_box(JsonReader& json) {
  if (json.peek() == JsonReader::Type::array) return read_polygons(json);
  if (json.peek() == JsonReader::Type::object) return read_mask(json);
  json.skip();
  return std::nullopt;
}

}  // namespace bdc
