#pragma once

#include "learn/bdc/absence_aware/image_state.h"

/// The loops over a candidate's members in which most of a fit's time goes, four edges at a time. The same bits on
/// every machine: wider registers change how many numbers are worked on at once, not how each is rounded.
namespace bdc::absence_aware {

/// Members of a candidate with their boxes and sources.
struct Members {
  Span<const std::int32_t> index;  ///< into item
  const Item* item;
  const SourceBelief* source;  ///< by Item::source
};

/// One coordinate update of the box posterior: the precision-weighted mean of the members' corrected edges, each
/// weighed by how far it lies off the posterior as it stands (reweight), or not.
void update_edges(const Members& members, double tail, bool reweight, Candidate& c);

/// Sums over members of ln((tail + D) / 2), with D as in edge_noise.h: of the two x edges, and of the two y edges.
/// scale: instead of the candidate's own.
[[nodiscard]] std::array<double, 2> log_tails(const Members& members, double tail, const Candidate& c,
                                              const std::array<double, 2>& scale);

/// What moving the box posterior from N(m, v) to N(m', v') does, edges multiplied or added up: v' / v, (tail + D) / 2,
/// and KL(N(m', v') || N(m, v)) without its logarithms.
struct EdgeChange {
  double spread, tails, divergence;
};

/// When the item joins the candidate, and when it leaves it: D and the divergence are then those with the item in it.
[[nodiscard]] EdgeChange join_edges(const Item& item, const SourceBelief& source, double tail, const Candidate& c);
[[nodiscard]] EdgeChange leave_edges(const Item& item, const SourceBelief& source, double tail, const Candidate& c);

/// sum[n] += weight * terms[n]
void add_to(double* sum, const double* terms, std::size_t count, double weight);

/// Adds the edge errors of one box: weight, error and square, in noise scales, and when `sizes` in box sizes as well.
/// place: what the box counts.
void add_edges(const Item& item, const SourceBelief& source, double tail, const Candidate& c, double place, bool sizes,
               SourceEvidence& sums);

}  // namespace bdc::absence_aware
