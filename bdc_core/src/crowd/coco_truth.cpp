#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "bdc/base/error.h"
#include "bdc/base/text.h"
#include "bdc/crowd/coco.h"
#include "bdc/crowd/crowd_io.h"
#include "crowd/id_table.h"

namespace bdc {
namespace {

constexpr std::int32_t none = IdTable::none;

/// For each image of truth its number in crowd; none: crowd does not have it.
std::vector<std::int32_t> match_images(const CrowdData& crowd, const CrowdData& truth) {
  std::vector<std::int32_t> match(truth.images.size(), none);
  const IdTable ids = index_of(crowd.images);
  bool any = false;
  for (std::size_t i = 0; i < match.size(); ++i) {
    match[i] = ids.find(RecordId::from(truth.images[i].id));
    any = any || match[i] != none;
  }
  if (any) return match;
  std::unordered_map<std::string, std::int32_t> names;
  const auto name_of = [](const ImageRecord& image) { return std::filesystem::path(image.file).filename().string(); };
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    const std::string name = name_of(crowd.images[i]);
    if (name.empty()) continue;
    // A name that two images share identifies neither.
    const auto [entry, is_new] = names.try_emplace(name, static_cast<std::int32_t>(i));
    if (!is_new) entry->second = none;
  }
  for (std::size_t i = 0; i < match.size(); ++i) {
    const auto found = names.find(name_of(truth.images[i]));
    if (found != names.end()) match[i] = found->second;
  }
  return match;
}

/// By id when the names of all common ids agree, otherwise by name.
std::vector<std::int32_t> match_classes(const CrowdData& crowd, const CrowdData& truth) {
  std::vector<std::int32_t> by_id(truth.classes.size(), none), by_name(truth.classes.size(), none);
  const IdTable ids = index_of(crowd.classes);
  std::unordered_map<std::string, std::int32_t> names;
  for (std::size_t j = 0; j < crowd.classes.size(); ++j) {
    names.try_emplace(crowd.classes[j].name, static_cast<std::int32_t>(j));
  }
  bool ids_agree = true;
  for (std::size_t j = 0; j < truth.classes.size(); ++j) {
    by_id[j] = ids.find(RecordId::from(truth.classes[j].id));
    if (by_id[j] != none) {
      ids_agree = ids_agree && crowd.classes[static_cast<std::size_t>(by_id[j])].name == truth.classes[j].name;
    }
    const auto found = names.find(truth.classes[j].name);
    if (found != names.end()) by_name[j] = found->second;
  }
  const bool any_id = std::any_of(by_id.begin(), by_id.end(), [](std::int32_t j) { return j != none; });
  return ids_agree && any_id ? by_id : by_name;
}

}  // namespace

CrowdData read_truth(const std::string& path, ReadReport* report) {
  ReadOptions options;
  options.role = BoxRole::truth;
  return read_crowd({path}, options, report);
}

std::size_t attach_truth(CrowdData& crowd, const std::string& path) {
  const CrowdData file = read_truth(path);
  const std::vector<std::int32_t> images = match_images(crowd, file);
  const std::vector<std::int32_t> classes = match_classes(crowd, file);
  crowd.truth.clear();
  crowd.has_truth = true;
  crowd.truth_covers.assign(crowd.images.size(), 0);
  std::size_t matched = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i] == none || file.truth_covers[i] == 0) continue;
    crowd.truth_covers[static_cast<std::size_t>(images[i])] = 1;
    ++matched;
  }
  if (matched == 0) {
    throw DataError(path + ": none of its " + std::to_string(file.images.size()) +
                    " images is in the crowd data, neither by id nor by file name");
  }
  for (TruthBox box : file.truth) {
    const auto image = static_cast<std::size_t>(box.image);
    if (images[image] == none) continue;
    const ClassRecord& record = file.classes[static_cast<std::size_t>(box.label)];
    box.label = classes[static_cast<std::size_t>(box.label)];
    if (box.label == none) {
      throw DataError(path + ": class " + RecordId::from(record.id).shown() + " (" + in_quotes(record.name) +
                      ") is not in the crowd data (" + std::to_string(crowd.classes.size()) +
                      " classes), neither by id nor by name");
    }
    box.image = images[image];
    crowd.truth.push_back(box);
  }
  crowd.finalize();
  return matched;
}

void write_truth(const CrowdData& data, const std::string& path) {
  if (!data.has_truth) throw DataError(path + ": there is no truth to write");
  CrowdData covered;
  std::vector<std::int32_t> number(data.images.size(), none);
  for (std::size_t i = 0; i < data.images.size(); ++i) {
    if (data.truth_covers[i] == 0) continue;
    number[i] = static_cast<std::int32_t>(covered.images.size());
    covered.images.push_back(data.images[i]);
  }
  covered.classes = data.classes;
  covered.has_truth = true;
  for (TruthBox box : data.truth) {
    box.image = number[static_cast<std::size_t>(box.image)];
    covered.truth.push_back(box);
  }
  covered.finalize();
  static_cast<void>(write_crowd(covered, path, "coco"));
}

}  // namespace bdc
