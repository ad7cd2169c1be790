#pragma once

#include <cstdint>
#include <vector>

#include "bdc/learn/bdc/absence_aware.h"
#include "learn/bdc/absence_aware/image_state.h"

/// Who is shown which images is often no accident: some people read the crowded images, others a pile of which most are
/// empty. Then who looked says how many objects to expect, before anybody has drawn.
namespace bdc::absence_aware {

/// The worklist of every annotator: 1 for those who are shown more objects than the others of worklist 0, judged by
/// what their colleagues drew in the same images. All 0 unless the difference is far beyond chance.
[[nodiscard]] std::vector<std::uint8_t> find_worklists(const CrowdData& crowd);

/// The worklist of an image: that of most annotators who looked.
[[nodiscard]] std::size_t worklist_of(const AbsenceAwareBeliefs& beliefs, const ImageItems& image);

}  // namespace bdc::absence_aware
