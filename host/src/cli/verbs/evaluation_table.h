#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bdc/metrics/coco_eval.h"

namespace bdc::host {

/// AP50, AP75 and AP, a row per class and one for all.
void print_evaluation(std::ostream& out, const CocoEvalResult& evaluation, const std::vector<std::string>& class_names);

}  // namespace bdc::host
