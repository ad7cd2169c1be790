#pragma once

#include <string>
#include <vector>

namespace bdc {

/// "train", "val" or "test" for a folder or file that holds one part of a data set (train, valid, val2017,
/// train_labels, instances_val2017, ...); empty for any other name.
[[nodiscard]] std::string split_of(const std::string& folder_name);

/// Whether all of these names, and there is at least one, are names of splits, or differ in nothing but their splits
/// (street_train, street_test).
[[nodiscard]] bool are_splits(const std::vector<std::string>& names);

/// Of these names, one each of the different splits of one data set (train and val, street_train and street_val), where
/// there are two or more; otherwise none.
[[nodiscard]] std::vector<std::string> splits_among(const std::vector<std::string>& names);

/// The split of each of these files below a folder, which a folder on the way or the file's own name tells; all empty
/// unless every file has one.
[[nodiscard]] std::vector<std::string> splits_below(const std::string& folder, const std::vector<std::string>& files);

}  // namespace bdc
