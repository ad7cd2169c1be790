#include "crowd/splits.h"

#include <algorithm>
#include <set>

#include "base/files.h"
#include "bdc/base/text.h"
#include "bdc/crowd/crowd_io.h"
#include "crowd/data_yaml.h"

namespace bdc {

std::string split_of(const std::string& folder_name) {
  std::string name = lower_case(folder_name);
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();  // val2017
  for (const char* train : {"train", "training"}) {
    if (name == train) return "train";
  }
  for (const char* val : {"val", "valid", "validation"}) {
    if (name == val) return "val";
  }
  for (const char* test : {"test", "testing"}) {
    if (name == test) return "test";
  }
  return {};
}

std::vector<std::string> label_splits(const std::string& path) {
  std::set<std::string> found;
  if (!is_folder(path)) {
    if (!is_yaml_name(path)) return {};
    std::ifstream in = open_input(path);
    for (const DataYaml::Split& split : read_data_yaml(in, path).splits) found.insert(split.name);
  } else {
    for (const std::string& place : {path, join(path, "labels"), join(path, "Annotations")}) {
      if (!is_folder(place)) continue;
      for (const std::string& folder : folders_in(place)) found.insert(split_of(folder_name(folder)));
    }
  }
  std::vector<std::string> out;
  for (const char* split : {"train", "val", "test"}) {
    if (found.count(split) > 0) out.emplace_back(split);
  }
  return out;
}

bool are_splits(const std::vector<std::string>& folder_names) {
  return !folder_names.empty() && std::all_of(folder_names.begin(), folder_names.end(),
                                              [](const std::string& name) { return !split_of(name).empty(); });
}

}  // namespace bdc
