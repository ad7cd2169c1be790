#include "crowd/image_table.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unordered_set>

#include "base/csv.h"
#include "base/files.h"
#include "bdc/base/error.h"
#include "bdc/base/image_header.h"
#include "bdc/base/text.h"

namespace bdc {
namespace {

std::string file_name(std::string_view path) {
  return std::filesystem::path(path).filename().string();
}

std::int64_t read_extent(const CsvReader& csv, const std::string& field, const char* what) {
  const std::string_view text = trimmed(field);
  if (text.empty()) return 0;
  const auto value = parse_real(text);
  if (!value || !(*value >= 0) || !(*value <= 2147483647.0) ||
      *value != static_cast<double>(static_cast<std::int64_t>(*value))) {
    csv.fail(std::string("expected ") + what + " in whole pixels, found " + in_quotes(field));
  }
  return static_cast<std::int64_t>(*value);
}

}  // namespace

ImageTable::ImageTable(std::istream& in, const std::string& name) : name_(name) {
  CsvReader csv(in, name);
  std::size_t image = 0, width = 1, height = 2, id = std::string::npos, label = std::string::npos;
  bool first = true;
  std::unordered_map<std::string, std::size_t> seen;
  while (csv.next_row()) {
    const std::vector<std::string>& fields = csv.fields();
    if (first) {
      first = false;
      const bool heading = fields.size() < 3 || (!parse_real(trimmed(fields[1])) && !trimmed(fields[1]).empty());
      if (heading) {
        const auto column = [&](std::initializer_list<const char*> names) {
          for (std::size_t i = 0; i < fields.size(); ++i) {
            const std::string title = lower_case(trimmed(fields[i]));
            if (std::find(names.begin(), names.end(), title) != names.end()) return i;
          }
          return std::string::npos;
        };
        image = column({"image", "image_id", "file_name", "file", "filename"});
        width = column({"width", "dim1"});
        height = column({"height", "dim0"});
        id = column({"id"});
        label = column({"label"});
        if (image == std::string::npos || width == std::string::npos || height == std::string::npos) {
          const std::size_t more = fields.size() - 1;
          csv.fail("expected the columns image, width and height, found " + in_quotes(fields[0]) +
                   (more > 0 ? " and " + std::to_string(more) + " more" : ""));
        }
        continue;
      }
    }
    const std::size_t needed =
        std::max({image, width, height, id == std::string::npos ? 0 : id, label == std::string::npos ? 0 : label}) + 1;
    if (fields.size() < needed) {
      csv.fail("expected at least " + std::to_string(needed) + " fields, found " + std::to_string(fields.size()));
    }
    Row row;
    row.image = fields[image];
    if (label != std::string::npos) row.label = fields[label];
    const std::string& name_in_table = label == std::string::npos ? row.image : row.label;
    if (name_in_table.empty()) csv.fail("expected the name of an image, found nothing");
    row.width = read_extent(csv, fields[width], "a width");
    row.height = read_extent(csv, fields[height], "a height");
    if ((row.width == 0) != (row.height == 0)) csv.fail("expected both width and height or neither");
    if (id != std::string::npos && !fields[id].empty()) row.id = RecordId::untyped(fields[id]);
    row.line = csv.line();
    const auto [entry, is_new] = seen.try_emplace(name_in_table, row.line);
    if (!is_new) csv.fail("image " + in_quotes(name_in_table) + " is already on line " + std::to_string(entry->second));
    rows_.push_back(std::move(row));
  }
  std::unordered_set<std::string> stems;
  for (const Row& row : rows_) names_repeat_ = names_repeat_ || (!row.id && !stems.insert(file_stem(row.image)).second);
  if (label != std::string::npos) {
    for (std::size_t n = 0; n < rows_.size(); ++n) keys_[rows_[n].label] = static_cast<std::int64_t>(n);
    by_label_ = true;
    return;
  }
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    // One row may have the same key by several rules; that is not ambiguous.
    std::vector<std::string> keys = {rows_[n].image, without_extension(rows_[n].image), file_name(rows_[n].image),
                                     file_stem(rows_[n].image)};
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (const std::string& key : keys) {
      if (key != rows_[n].image) add_key(key, n);
    }
  }
  for (std::size_t n = 0; n < rows_.size(); ++n) keys_[rows_[n].image] = static_cast<std::int64_t>(n);
}

RecordId ImageTable::id_of(const Row& row) const {
  if (row.id) return *row.id;
  return RecordId::untyped(names_repeat_ ? without_extension(row.image) : file_stem(row.image));
}

void ImageTable::add_key(const std::string& key, std::size_t row) {
  const auto [entry, is_new] = keys_.try_emplace(key, static_cast<std::int64_t>(row));
  if (!is_new) entry->second = -1;
}

const ImageTable::Row* ImageTable::find(std::string_view image) const {
  if (keys_.empty()) return nullptr;
  const std::string tries[] = {std::string(image), without_extension(image), file_name(image), file_stem(image)};
  for (const std::string& key : tries) {
    const auto found = keys_.find(key);
    if (by_label_ && found == keys_.end()) return nullptr;  // labels are exact
    if (found != keys_.end() && found->second >= 0) return &rows_[static_cast<std::size_t>(found->second)];
  }
  return nullptr;
}

ImageFolder::ImageFolder(const std::string& folder) : folder_(folder) {
  require_exists(folder);
  if (!is_folder(folder)) throw DataError(folder + ": expected a folder of images, found a file");
  for (const std::string& path : files_below(folder, {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"})) {
    for (const std::string& key : {file_name(path), file_stem(path)}) {
      const auto [entry, is_new] = files_.try_emplace(key, path);
      if (!is_new && entry->second != path) entry->second.clear();
    }
  }
}

std::optional<std::pair<int, int>> ImageFolder::size_of(std::string_view image) const {
  for (const std::string& key : {file_name(image), file_stem(image)}) {
    const auto found = files_.find(key);
    if (found == files_.end() || !is_regular_file(found->second)) continue;
    std::ifstream in = open_input(found->second);
    const auto header = read_image_header(in);
    if (!header) return std::nullopt;
    return std::pair{static_cast<int>(header->shown_width()), static_cast<int>(header->shown_height())};
  }
  return std::nullopt;
}

std::string ImageFolder::path_of(std::string_view image) const {
  for (const std::string& key : {file_name(image), file_stem(image)}) {
    const auto found = files_.find(key);
    if (found != files_.end() && !found->second.empty()) {
      return std::filesystem::path(found->second).lexically_relative(folder_).string();
    }
  }
  return {};
}

}  // namespace bdc
