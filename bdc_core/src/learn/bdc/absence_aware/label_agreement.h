#pragma once

#include "bdc/learn/dependence.h"
#include "learn/bdc/absence_aware/problem.h"

/// Who errs alike, found from the labels that sources give to the same object.
///
/// Two sources who err independently agree, corrected for chance, as often as the product of their skills: A_kl = p_k
/// p_l. So p_k = median over partners l of A_kl / p_l, which a minority of friends cannot move, and what is left,
/// rho_kl = (A_kl - p_k p_l) / (1 - p_k p_l), is the share of errors the two have in common.
namespace bdc::absence_aware {

/// Counts labels over the candidates that are likely objects. Nothing is found where people are too many or share too
/// few boxes to tell. A prediction's label is its most probable class.
/// Each rank brings its images.
[[nodiscard]] Dependence find_dependence(const Problem& problem, const std::vector<ImageState>& state,
                                         const AbsenceAwareBeliefs& beliefs, Ranks& ranks);

}  // namespace bdc::absence_aware
