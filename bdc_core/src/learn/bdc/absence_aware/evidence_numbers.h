#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "bdc/learn/bdc/absence_aware.h"

/// Evidence as rows of numbers, for sums that must not depend on who adds them.
namespace bdc::absence_aware {

inline constexpr std::size_t kSourceNumbers = sizeof(SourceEvidence) / sizeof(double);
static_assert(std::is_trivially_copyable_v<SourceEvidence> && sizeof(SourceEvidence) % sizeof(double) == 0,
              "a row of numbers");
using SourceNumbers = std::array<double, kSourceNumbers>;

/// image_bound, per worklist images, blank images and images by object rate, then the score levels of real and of
/// spurious boxes
inline constexpr std::size_t kEvidenceScalars = 1 + kWorklists * (2 + kObjectRates) + 2 * kScoreLevels;

/// Visits the numbers that belong to no source and no class, always in the same order.
template <class Evidence, class Visit>
void for_scalars(Evidence& e, const Visit& visit) {
  visit(e.image_bound);
  for (auto& kind : e.worklist) {
    visit(kind.images), visit(kind.blank_images);
    for (auto& x : kind.rate_images) visit(x);
  }
  for (auto& x : e.real_level) visit(x);
  for (auto& x : e.spurious_level) visit(x);
}

/// All numbers but the labels': sources, classes, scalars.
[[nodiscard]] inline std::size_t numbers_of(const AbsenceAwareEvidence& e) {
  return e.source.size() * kSourceNumbers + e.class_count.size() + kEvidenceScalars;
}
/// to: numbers_of(e) of them.
inline void put_numbers(const AbsenceAwareEvidence& e, double* to) {
  if (!e.source.empty()) std::memcpy(to, e.source.data(), e.source.size() * sizeof(SourceEvidence));
  to = std::copy(e.class_count.begin(), e.class_count.end(), to + e.source.size() * kSourceNumbers);
  for_scalars(e, [&](double x) { *to++ = x; });
}
inline void take_numbers(const double* from, AbsenceAwareEvidence& e) {
  if (!e.source.empty()) {
    std::memcpy(static_cast<void*>(e.source.data()), from, e.source.size() * sizeof(SourceEvidence));
  }
  from += e.source.size() * kSourceNumbers;
  std::copy_n(from, e.class_count.size(), e.class_count.begin());
  from += e.class_count.size();
  for_scalars(e, [&](double& x) { x = *from++; });
}

}  // namespace bdc::absence_aware
