#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_io.h"

namespace bdc {

/// Who drew, for each of several files or folders that do not say so themselves.
struct SourceNames {
  std::vector<std::string> annotators;  ///< one per path
  std::string note;                     ///< how they were found, where that is not obvious; else empty
  bool by_folder = false;               ///< they are folders' names; `note` may say more
};

/// Up to four different names, in quotes.
[[nodiscard]] std::string some_names(const std::vector<std::string>& names);

/// Names of annotators from the paths of their files. The files' own names (without extension) when these all differ;
/// otherwise the first folder that tells the paths apart. Folders that are splits (train, valid, test) tell no
/// annotators apart: all are then the one that the folder above is named after. A zip file of which one file is read is
/// that file's folder and name; of several, the names inside tell. Throws DataError, with what to do, when a path
/// is given twice or no single part of the paths tells who drew.
/// splits: the split of each path where that is known already; empty otherwise.
[[nodiscard]] SourceNames names_of_sources(const std::vector<std::string>& paths, AnnotatorFrom from,
                                           const std::vector<std::string>& splits = {});

}  // namespace bdc
