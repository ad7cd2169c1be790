#pragma once

#include <string>
#include <vector>

#include "bdc/base/text.h"
#include "bdc_core/crowd/io_support.h"

namespace bdc::test {

using Names = std::vector<std::string>;

/// What was read, and what people were told of it.
struct Read {
  CrowdData data;
  std::vector<std::string> notes;

  [[nodiscard]] bool notes_have(const std::string& part) const {
    for (const std::string& note : notes) {
      if (note.find(part) != std::string::npos) return true;
    }
    return false;
  }
  [[nodiscard]] std::string all_notes() const { return bdc::join(notes, "\n"); }
};

inline Read read(const std::vector<std::string>& paths, ReadOptions options = {}) {
  Read out;
  options.notes = &out.notes;
  out.data = read_crowd(paths, options);
  return out;
}

inline Names annotators_of(const CrowdData& data) {
  Names out;
  for (const AnnotatorRecord& annotator : data.annotators) out.push_back(annotator.id.text);
  return out;
}

}  // namespace bdc::test
