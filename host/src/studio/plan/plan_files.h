#pragma once

#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/learn/plan/look_plan.h"

namespace bdc::host {

/// A form in which a plan can be written.
struct PlanFormat {
  const char* name;  ///< of --output-format
  const char* help;
  std::string (*text)(const CrowdData& crowd, const LookPlan& plan);
};

/// csv, json, cvat and label-studio; docs/plan.md describes them.
[[nodiscard]] const std::vector<PlanFormat>& plan_formats();
/// The format of that name, or null.
[[nodiscard]] const PlanFormat* find_plan_format(const std::string& name);

/// How a person or an image is called: name or file, otherwise the id.
[[nodiscard]] std::string title_of(const AnnotatorRecord& annotator);
[[nodiscard]] std::string title_of(const ImageRecord& image);

/// Those who saw an image so far.
[[nodiscard]] std::size_t lookers(const CrowdData& crowd, std::size_t image);

}  // namespace bdc::host
