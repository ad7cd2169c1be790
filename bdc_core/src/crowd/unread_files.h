#pragma once

#include <string>

#include "crowd/format.h"

namespace bdc {

/// Accounts for the files of a folder (or zip file) that hold something and were not read: a note for each kind, with
/// what it seems to be. Throws DataError for labels of another format than `format`, unless the user has named the
/// format, and for files that are empty or break off and are called like those that were read: somebody's labels would
/// be missing. Pictures, programs and what lies beside labels anyway (classes.txt, sizes.csv, data.yaml) are passed
/// over.
void tell_unread_files(const std::string& folder, const CrowdFormat& format, ReadContext& context);

/// Whether a file is a consensus that bdc wrote (`aggregate -o`), known by what its boxes carry, and nobody's labels.
[[nodiscard]] bool is_own_consensus(const std::string& path);

}  // namespace bdc
