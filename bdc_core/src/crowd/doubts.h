#pragma once

#include <string>

#include "bdc/crowd/crowd_data.h"
#include "crowd/format.h"

/// What makes labels doubtful once they are read, whatever their format. Said in notes, or refused through the
/// context's problems.
namespace bdc {

/// A name without what people write in several ways: case and blanks.
[[nodiscard]] std::string plain_spelling(const std::string& name);

/// Says what became of shapes, what was left out, and which boxes have scores. Labels with nothing else are an error.
void tell_what_is_left_out(ReadContext& context, const CrowdData& data);

/// Says which annotators may be one: their ids differ in case or blanks alone, or all their boxes are the same.
void tell_doubtful_annotators(ReadContext& context, const CrowdData& data);

/// Throws DataError, also where problems are collected, as nothing of such labels can be used: for what context.refusal
/// says, and for boxes of an annotator, or the truth's, of which nearly all are smaller than a pixel and lie where
/// shares of an image's size do.
void require_pixels(const ReadContext& context, const CrowdData& data);

}  // namespace bdc
