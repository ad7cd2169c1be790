#pragma once

#include <iosfwd>
#include <vector>

#include "synth/simulate.h"

namespace bdc::host {

/// What came out, group by group, measured against the truth. drawn_for: as simulate_crowd returns it.
void print_groups(std::ostream& out, const CrowdData& crowd, const std::vector<CrowdMember>& members,
                  const std::vector<std::int32_t>& drawn_for);

}  // namespace bdc::host
