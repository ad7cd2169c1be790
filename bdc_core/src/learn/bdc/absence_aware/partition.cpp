#include "learn/bdc/absence_aware/partition.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace bdc::absence_aware {
namespace {

/// A move must gain at least this: rounding cannot make two moves undo each other for ever.
constexpr double kLeastGain = 1e-9;
/// A move whose estimate falls short of the best by more than this is not worked out.
constexpr double kEstimateError = 3.0;
constexpr int kSweeps = 3;

class Partition {
 public:
  Partition(CandidateModel& model, ImageState& state)
      : model_(model),
        state_(state),
        checked_(state.candidate_of.size(), 0),
        alone_(state.candidate_of.size()),
        left_(state.candidate_of.size()) {
    stamp_.assign(state.candidates.size() + 1, 0);
    changed_.assign(state.candidates.size(), ++clock_);
    merge_tried_.assign(state.candidates.size(), 0);
  }

  /// Moves, regrouping and merges, again where something changed. Returns the number of accepted moves.
  int improve() {
    int accepted = 0;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const int before = accepted;
      for (std::size_t n = 0; n < state_.candidate_of.size(); ++n) {
        const auto item = static_cast<std::int32_t>(n);
        if (!is_stale(item)) continue;
        checked_[n] = clock_;
        accepted += move_item(item) ? 1 : 0;
      }
      accepted += regroup_spurious();
      for (std::size_t a = 0; a < state_.candidates.size(); ++a) accepted += merge_candidate(a) ? 1 : 0;
      if (accepted == before) break;
    }
    return accepted;
  }

  /// Calls body(candidate) once for every candidate with an item next to item n, in order of overlap.
  template <class Body>
  void for_neighbours(std::int32_t n, const Body& body) {
    next_stamp();
    visit_neighbours(n, body);
  }

  void next_stamp() {
    ++now_;
    stamp_.resize(state_.candidates.size() + 1, 0);
  }

  template <class Body>
  void visit_neighbours(std::int32_t n, const Body& body) {
    const auto first = static_cast<std::size_t>(state_.neighbour_begin[static_cast<std::size_t>(n)]);
    const auto last = static_cast<std::size_t>(state_.neighbour_begin[static_cast<std::size_t>(n) + 1]);
    for (std::size_t i = first; i < last; ++i) {
      const std::int32_t c = state_.candidate_of[static_cast<std::size_t>(state_.neighbour[i])];
      if (c < 0 || stamp_[static_cast<std::size_t>(c)] == now_) continue;
      stamp_[static_cast<std::size_t>(c)] = now_;
      body(static_cast<std::size_t>(c));
    }
  }

  [[nodiscard]] std::int32_t source_of(std::int32_t item) const {
    return model_.image().items[static_cast<std::size_t>(item)].source;
  }

  /// The member that `source` has in the candidate, or -1.
  [[nodiscard]] std::int32_t member_of(const Candidate& c, std::int32_t source) const {
    for (const std::int32_t n : c.members) {
      if (source_of(n) == source) return n;
    }
    return -1;
  }

  /// Candidate c's members without `out` and with `in` (-1: none), solved.
  Candidate changed(const Candidate& c, std::int32_t out, std::int32_t in, bool outputs = false) {
    Candidate result;
    result.members.reserve(c.members.size() + 1);
    for (const std::int32_t n : c.members) {
      if (n != out) result.members.push_back(n);
    }
    if (in >= 0) result.members.push_back(in);
    if (!result.members.empty()) model_.solve(result, outputs);
    return result;
  }

  /// Whether something changed around the item since its moves were last tried.
  bool is_stale(std::int32_t item) {
    const std::size_t n = static_cast<std::size_t>(item);
    if (changed_[static_cast<std::size_t>(state_.candidate_of[n])] > checked_[n]) return true;
    bool stale = false;
    for_neighbours(item, [&](std::size_t c) { stale = stale || changed_[c] > checked_[n]; });
    return stale;
  }

  double alone_bound(std::int32_t item) {
    auto& known = alone_[static_cast<std::size_t>(item)];
    if (!known) known = model_.bound_alone(item);
    return *known;
  }

  /// What its candidate would lose without the item.
  const CandidateGain& leaving(std::int32_t item) {
    const auto c = static_cast<std::size_t>(state_.candidate_of[static_cast<std::size_t>(item)]);
    Left& known = left_[static_cast<std::size_t>(item)];
    if (known.time < changed_[c]) known = {clock_, model_.leaving(state_.candidates[c], item)};
    return known.gain;
  }

  static double bound_after(const Candidate& c, const CandidateGain& gain) {
    return log_sum(c.real + gain.real, c.spurious + gain.spurious);
  }

  /// Estimate of the bound of c without its member `out` and with `in`.
  double estimate(const Candidate& c, std::int32_t out, std::int32_t in) {
    CandidateGain gain;
    if (out >= 0) {
      if (c.members.size() == 1) return in >= 0 ? alone_bound(in) : 0.0;
      gain = leaving(out);
    }
    if (in >= 0) {
      const CandidateGain more = model_.joining(c, in);
      gain.real += more.real;
      gain.spurious += more.spurious;
    }
    return bound_after(c, gain);
  }

  /// At least what estimate(c, out, in) says, for a member `out` and an item `in`.
  double most(const Candidate& c, std::int32_t out, std::int32_t in) {
    if (c.members.size() == 1) return alone_bound(in);
    constexpr double kLogTwo = 0.6931471805599453;
    const CandidateGain less = leaving(out), more = model_.most_joining(c, in);
    return std::max(c.real + less.real + more.real, c.spurious + less.spurious + more.spurious) + kLogTwo;
  }

  Candidate alone(std::int32_t item, bool outputs = false) {
    Candidate result;
    result.members = {item};
    model_.solve(result, outputs);
    return result;
  }

  void put(std::size_t index, Candidate candidate) {
    for (const std::int32_t n : candidate.members) {
      state_.candidate_of[static_cast<std::size_t>(n)] = static_cast<std::int32_t>(index);
    }
    model_.evaluate(candidate, true);
    state_.candidates[index] = std::move(candidate);
    changed_[index] = ++clock_;
    merge_tried_[index] = 0;
  }

  void append(Candidate candidate) {
    state_.candidates.emplace_back();
    stamp_.push_back(0);
    changed_.push_back(0);
    merge_tried_.push_back(0);
    put(state_.candidates.size() - 1, std::move(candidate));
  }

  /// Removes an empty candidate; the last one takes its place.
  void remove(std::size_t index) {
    if (index + 1 != state_.candidates.size()) put(index, std::move(state_.candidates.back()));
    state_.candidates.pop_back();
    changed_.pop_back();
    merge_tried_.pop_back();
  }

  bool move_item(std::int32_t n);
  /// Candidates grown from `items`, in order; they need not raise the bound.
  std::vector<Candidate> grow(const std::vector<std::int32_t>& items);
  int regroup_spurious();
  /// Whether merging is worth working out.
  bool may_merge(const Candidate& a, const Candidate& b);
  bool merge_candidate(std::size_t a);

 private:
  CandidateModel& model_;
  ImageState& state_;
  std::vector<std::int32_t> stamp_, tried_;
  std::int32_t now_ = 0;
  // Times count changes of candidates: when a candidate last changed, and when an item's moves were last tried.
  std::int64_t clock_ = 0;
  std::vector<std::int64_t> changed_, checked_;
  std::vector<char> merge_tried_;             ///< since the candidate last changed
  std::vector<std::optional<double>> alone_;  ///< bound of the item as a candidate of its own
  struct Left {
    std::int64_t time = -1;
    CandidateGain gain;
  };
  std::vector<Left> left_;  ///< per item what its candidate would lose without it, and when that was estimated
};

bool Partition::move_item(std::int32_t n) {
  const auto from = static_cast<std::size_t>(state_.candidate_of[static_cast<std::size_t>(n)]);
  const bool was_alone = state_.candidates[from].members.size() == 1;
  const double rest_estimate = estimate(state_.candidates[from], n, -1);
  std::optional<Candidate> exact_rest;
  const auto rest = [&]() -> const Candidate& {
    if (!exact_rest) exact_rest = changed(state_.candidates[from], n, -1);
    return *exact_rest;
  };
  const auto rest_bound = [&] { return was_alone ? 0.0 : rest().bound; };

  // The best move found: `from` becomes `home`, `to` becomes `there`, `evicted` stands alone. Empty: nothing there.
  double best = state_.candidates[from].bound + kLeastGain;
  const auto promising = [&](double estimated) { return estimated > best - kEstimateError; };
  bool found = false;
  std::size_t to = from;
  Candidate home, there, evicted;
  if (!was_alone && promising(rest_estimate + alone_bound(n)) && rest_bound() + alone_bound(n) > best) {
    best = rest_bound() + alone_bound(n);
    found = true;
    home = rest();
    evicted = alone(n);
  }
  const std::int32_t source = source_of(n);
  for_neighbours(n, [&](std::size_t c) {
    if (c == from) return;
    const Candidate& target = state_.candidates[c];
    const std::int32_t other = member_of(target, source);
    const double gain_estimate = estimate(target, other, n) - target.bound;
    if (other < 0) {
      if (!promising(rest_estimate + gain_estimate)) return;
      Candidate joined = changed(target, -1, n);
      const double sum = rest_bound() + joined.bound - target.bound;
      if (sum <= best) return;
      best = sum;
      found = true;
      to = c;
      home = rest();
      there = std::move(joined);
      evicted = Candidate{};
      return;
    }
    const bool try_swap = promising(most(state_.candidates[from], n, other) + gain_estimate) &&
                          promising(estimate(state_.candidates[from], n, other) + gain_estimate);
    // When n is alone, pushing the other out is the swap.
    const bool try_evict = !was_alone && promising(rest_estimate + gain_estimate + alone_bound(other));
    if (!try_swap && !try_evict) return;
    Candidate joined = changed(target, other, n);
    const double gain = joined.bound - target.bound;
    if (try_swap) {
      Candidate swapped = changed(state_.candidates[from], n, other);
      if (swapped.bound + gain > best) {
        best = swapped.bound + gain;
        found = true;
        to = c;
        home = std::move(swapped);
        there = joined;
        evicted = Candidate{};
      }
    }
    if (try_evict && rest_bound() + gain + alone_bound(other) > best) {
      best = rest_bound() + gain + alone_bound(other);
      found = true;
      to = c;
      home = rest();
      there = std::move(joined);
      evicted = alone(other);
    }
  });
  if (!found) return false;
  if (!there.members.empty()) put(to, std::move(there));
  if (!evicted.members.empty()) append(std::move(evicted));
  if (home.members.empty()) {
    remove(from);
  } else {
    put(from, std::move(home));
  }
  return true;
}

std::vector<Candidate> Partition::grow(const std::vector<std::int32_t>& items) {
  std::vector<Candidate> grown;
  std::vector<std::int32_t> place(state_.candidate_of.size(), -1);
  for (const std::int32_t item : items) {
    double best = alone_bound(item);
    Candidate joined;
    std::size_t where = 0;
    tried_.clear();
    for (auto i = static_cast<std::size_t>(state_.neighbour_begin[static_cast<std::size_t>(item)]);
         i < static_cast<std::size_t>(state_.neighbour_begin[static_cast<std::size_t>(item) + 1]); ++i) {
      const std::int32_t at = place[static_cast<std::size_t>(state_.neighbour[i])];
      if (at < 0 || std::find(tried_.begin(), tried_.end(), at) != tried_.end()) continue;
      tried_.push_back(at);
      const auto c = static_cast<std::size_t>(at);
      if (member_of(grown[c], source_of(item)) >= 0) continue;
      if (model_.joining(grown[c], item).real < best - kEstimateError) continue;
      Candidate trial = changed(grown[c], -1, item, true);
      if (trial.real - grown[c].real <= best) continue;
      best = trial.real - grown[c].real;
      joined = std::move(trial);
      where = c;
    }
    if (joined.members.empty()) {
      where = grown.size();
      grown.push_back(alone(item, true));
    } else {
      grown[where] = std::move(joined);
    }
    place[static_cast<std::size_t>(item)] = static_cast<std::int32_t>(where);
  }
  return grown;
}

int Partition::regroup_spurious() {
  std::vector<std::int32_t> items;
  for (const Candidate& c : state_.candidates) {
    // More likely spurious than an object: ln(e^A + e^B) exceeds A by more than ln 2.
    if (c.bound - c.real > 0.6931471805599453) items.insert(items.end(), c.members.begin(), c.members.end());
  }
  if (items.size() < 2) return 0;
  const auto neighbours = [&](std::int32_t n) {
    return state_.neighbour_begin[static_cast<std::size_t>(n) + 1] -
           state_.neighbour_begin[static_cast<std::size_t>(n)];
  };
  std::sort(items.begin(), items.end(), [&](std::int32_t a, std::int32_t b) {
    return neighbours(a) != neighbours(b) ? neighbours(a) > neighbours(b) : a < b;
  });
  int accepted = 0;
  for (Candidate& group : grow(items)) {
    if (group.members.size() < 2) continue;
    // What the group's members leave behind.
    std::vector<std::size_t> touched;
    for (const std::int32_t n : group.members) {
      touched.push_back(static_cast<std::size_t>(state_.candidate_of[static_cast<std::size_t>(n)]));
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    double before = 0, after = group.bound;
    std::vector<Candidate> left(touched.size());
    for (std::size_t t = 0; t < touched.size(); ++t) {
      before += state_.candidates[touched[t]].bound;
      for (const std::int32_t n : state_.candidates[touched[t]].members) {
        if (std::find(group.members.begin(), group.members.end(), n) == group.members.end()) {
          left[t].members.push_back(n);
        }
      }
      if (left[t].members.empty()) continue;
      model_.solve(left[t]);
      after += left[t].bound;
    }
    if (after <= before + kLeastGain) continue;
    ++accepted;
    append(std::move(group));
    for (std::size_t t = touched.size(); t-- > 0;) {  // from the back: removing moves the last candidate only
      if (left[t].members.empty()) {
        remove(touched[t]);
      } else {
        put(touched[t], std::move(left[t]));
      }
    }
  }
  return accepted;
}

bool Partition::may_merge(const Candidate& a, const Candidate& b) {
  const Candidate& large = a.members.size() < b.members.size() ? b : a;
  const Candidate& small = a.members.size() < b.members.size() ? a : b;
  CandidateGain gain;
  for (const std::int32_t n : small.members) {
    const CandidateGain one = model_.joining(large, n);
    gain.real += one.real;
    gain.spurious += one.spurious;
  }
  return bound_after(large, gain) > a.bound + b.bound - kEstimateError * static_cast<double>(small.members.size());
}

bool Partition::merge_candidate(std::size_t a) {
  if (merge_tried_[a] != 0) return false;  // a pair is tried when either of the two has changed
  bool any = false;
  for (bool again = true; again;) {
    again = false;
    next_stamp();
    stamp_[a] = now_;
    const std::vector<std::int32_t> members = state_.candidates[a].members;
    for (const std::int32_t n : members) {
      std::size_t partner = a;
      Candidate best;
      visit_neighbours(n, [&](std::size_t c) {
        const Candidate& other = state_.candidates[c];
        for (const std::int32_t m : other.members) {
          if (member_of(state_.candidates[a], source_of(m)) >= 0) return;
        }
        if (!may_merge(state_.candidates[a], other)) return;
        Candidate joint;
        joint.members = state_.candidates[a].members;
        joint.members.insert(joint.members.end(), other.members.begin(), other.members.end());
        model_.solve(joint);
        if (joint.bound <= state_.candidates[a].bound + other.bound + kLeastGain) return;
        if (!best.members.empty() && joint.bound - other.bound <= best.bound - state_.candidates[partner].bound) return;
        partner = c;
        best = std::move(joint);
      });
      if (best.members.empty()) continue;
      put(a, std::move(best));
      // The partner is empty now. Keep `a` valid when the last candidate takes a free place.
      const std::size_t last = state_.candidates.size() - 1;
      remove(partner);
      if (a == last) a = partner;
      any = again = true;
      break;
    }
  }
  merge_tried_[a] = 1;
  return any;
}

}  // namespace

void initial_partition(CandidateModel& model, const std::vector<double>& support, ImageState& state) {
  const std::size_t n = model.image().items.size();
  state.candidates.clear();
  state.candidate_of.assign(n, -1);
  state.quiet = 0;
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const double sa = support[static_cast<std::size_t>(a)], sb = support[static_cast<std::size_t>(b)];
    return sa != sb ? sa > sb : a < b;
  });
  Partition partition(model, state);
  for (Candidate& candidate : partition.grow(order)) partition.append(std::move(candidate));
}

int improve_partition(CandidateModel& model, ImageState& state) {
  return Partition(model, state).improve();
}

}  // namespace bdc::absence_aware
