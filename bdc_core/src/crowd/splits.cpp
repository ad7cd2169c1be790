#include "crowd/splits.h"

#include <algorithm>

#include "bdc/base/text.h"

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

bool are_splits(const std::vector<std::string>& folder_names) {
  return !folder_names.empty() && std::all_of(folder_names.begin(), folder_names.end(),
                                              [](const std::string& name) { return !split_of(name).empty(); });
}

}  // namespace bdc
