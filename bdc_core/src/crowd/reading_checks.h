#pragma once

#include <string>

#include "crowd/format.h"

// What is checked of any format's labels: the options before they are read, and whether what was read can be meant.
namespace bdc {

/// Throws DataError for an option that says nothing to the format, so that nobody believes it was heeded.
void require_used_options(const CrowdFormat& format, const ReadOptions& options, const std::string& path);

/// Throws DataError when options.annotator names none of those who drew, because the labels name them.
void require_named_annotator(const ReadContext& context, const CrowdData& data);

/// Notes annotators that are called like what is no annotator's work (gt, consensus).
void tell_doubtful_names(ReadContext& context, const CrowdData& data);

}  // namespace bdc
