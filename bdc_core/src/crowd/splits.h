#pragma once

#include <string>
#include <vector>

namespace bdc {

/// "train", "val" or "test" for a folder that holds one part of a data set (train, valid, val2017, testing, ...); empty
/// for any other name.
[[nodiscard]] std::string split_of(const std::string& folder_name);

/// Whether all of these names, and there is at least one, are names of splits.
[[nodiscard]] bool are_splits(const std::vector<std::string>& folder_names);

}  // namespace bdc
