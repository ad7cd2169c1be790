#pragma once

#include "bdc/base/span.h"

namespace bdc {

/// Pearson's correlation; NaN for fewer than two pairs or a list without spread. Throws std::invalid_argument for lists
/// of different length.
[[nodiscard]] double correlation(Span<const double> a, Span<const double> b);

/// Spearman's: the correlation of the ranks, equal values sharing their mean rank.
[[nodiscard]] double rank_correlation(Span<const double> a, Span<const double> b);

}  // namespace bdc
