#include "bdc/learn/online_bdc.h"

#include <stdexcept>

#include "bdc/base/error.h"
#include "learn/bdc/online_profiles.h"

namespace bdc {

std::unique_ptr<OnlineBdc> make_online_bdc(const CrowdData& crowd, const OnlineBdcSettings& settings) {
  if (crowd.annotators.empty() || crowd.annotations.empty()) {
    throw DataError("BDC learns from several annotators' boxes, but the labels have " +
                    std::to_string(crowd.annotators.size()) + " annotators and " +
                    std::to_string(crowd.annotations.size()) + " annotations");
  }
  if (settings.profile == "absence_aware") return make_online_absence_aware(crowd, settings);
  if (settings.profile == "paper" || settings.profile == "reference") return make_online_classic(crowd, settings);
  throw std::invalid_argument("unknown profile '" + settings.profile + "': absence_aware, paper or reference");
}

}  // namespace bdc
