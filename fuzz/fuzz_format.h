#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "bdc/base/error.h"
#include "bdc/crowd/crowd_io.h"
#include "bdc/crowd/validate.h"

namespace bdc::fuzz {

/// Reads the bytes as one file of a format, strictly and leniently. Allowed: data that keeps CrowdData's promises, or
/// DataError with a message. A lenient reader accepts what a strict one accepts, and never throws.
inline void read_format(const std::uint8_t* bytes, std::size_t size, const ReadOptions& given, const char* name) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const BoxRole role : {BoxRole::crowd, BoxRole::truth}) {
    ReadOptions options = given;
    options.role = role;
    bool strict_accepts = false;
    try {
      std::istringstream in(text);
      const CrowdData data = parse_crowd(in, name, options);
      strict_accepts = true;
      for (const Annotation& a : data.annotations) {
        if (!a.box.valid()) std::abort();
      }
      if (data.annotation_begin.size() != data.images.size() + 1) std::abort();
    } catch (const DataError& error) {
      if (std::string(error.what()).empty()) std::abort();
    }
    ProblemLog log(ProblemLog::Mode::lenient);
    options.problems = &log;
    ReadReport report;
    std::istringstream in(text);
    CrowdData data = parse_crowd(in, name, options, &report);
    if (strict_accepts != (log.count(Severity::error) == 0)) std::abort();
    if (report.annotation_place.size() != data.annotations.size()) std::abort();
    if (report.image_place.size() != data.images.size()) std::abort();
    check_crowd(data, &report, {}, log);
    static_cast<void>(fix_crowd(data));
    for (const Annotation& a : data.annotations) {
      if (!a.box.valid()) std::abort();
    }
  }
}

}  // namespace bdc::fuzz
