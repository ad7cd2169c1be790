#include "bdc/crowd/targets_of_ranks.h"

#include <stdexcept>
#include <utility>
#include <vector>

namespace bdc {
namespace {

template <class Visit>
void for_rows(Targets& t, const Visit& visit) {
  visit(t.box), visit(t.class_probs), visit(t.hard_label), visit(t.weight), visit(t.score), visit(t.existence);
  visit(t.located), visit(t.box_std);
}

/// Room for exactly what all ranks have: growing by doubling would need twice the memory.
void reserve_whole(Ranks& ranks, bool gets_whole, Targets& own) {
  std::vector<double> sizes{static_cast<double>(own.begin.size())};
  for_rows(own, [&](auto& row) { sizes.push_back(static_cast<double>(row.size())); });
  ranks.all_reduce_doubles(sizes);
  if (!gets_whole) return;
  std::size_t n = 0;
  own.begin.reserve(static_cast<std::size_t>(sizes[n++]));
  for_rows(own, [&](auto& row) { row.reserve(static_cast<std::size_t>(sizes[n++])); });
}

void append_all(const std::string& bytes, Targets& to) {
  StateReader state(bytes);
  const Targets from = load_targets(state);
  for (std::size_t i = 0; i + 1 < from.begin.size(); ++i) append_image(from, i, to);
}

}  // namespace

void save_targets(const Targets& t, StateWriter& state) {
  state(t.box), state(t.class_probs), state(t.hard_label), state(t.weight), state(t.score), state(t.existence);
  state(t.located), state(t.box_std), state(t.begin), state(t.num_classes);
}

Targets load_targets(StateReader& state) {
  Targets t;
  for_rows(t, [&](auto& row) { state.resized(row); });
  state.resized(t.begin);
  state(t.num_classes);
  if (!t.begin.empty() && t.begin.back() != t.box.size()) {
    throw std::invalid_argument("the state of BDC contradicts itself");
  }
  return t;
}

void join_targets(Ranks& ranks, Whole whole, Targets& own) {
  if (ranks.is_alone()) return;
  const bool gets_whole = whole == Whole::in_all || ranks.is_first();
  reserve_whole(ranks, whole == Whole::in_first && ranks.is_first(), own);
  StateWriter state;
  if (whole == Whole::in_all || !ranks.is_first()) save_targets(own, state);
  const int num_classes = own.num_classes;
  if (!gets_whole || whole == Whole::in_all) own = {};
  own.num_classes = num_classes;
  const std::string bytes = state.take();
  if (whole == Whole::in_first) {
    ranks.send_to_first(bytes, [&](const std::string& theirs) { append_all(theirs, own); });
  } else {
    for (const std::string& theirs : ranks.gather(bytes)) append_all(theirs, own);
  }
  if (gets_whole && own.begin.empty()) own.begin.push_back(0);
}

}  // namespace bdc
