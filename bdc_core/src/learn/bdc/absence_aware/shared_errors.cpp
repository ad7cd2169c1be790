#include "learn/bdc/absence_aware/shared_errors.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "bdc/base/state_bytes.h"

namespace bdc::absence_aware {
namespace {

constexpr std::size_t kLeastObjects = 30;
constexpr double kLeastExcess = 0.25, kStandardErrors = 5;
/// Of objects that hardly exist or whose class is open, nobody can be said to contradict the consensus.
constexpr double kLeastExistence = 0.5, kLeastClass = 0.9;

struct Contradicted {
  std::uint64_t consensus;             ///< class
  std::vector<std::uint64_t> against;  ///< labels of those who gave another class, sorted
};

std::vector<Contradicted> contradicted_objects(const Problem& problem, const std::vector<ImageState>& state,
                                               std::size_t num_classes) {
  std::vector<Contradicted> out;
  for (std::size_t i = 0; i < problem.images(); ++i) {
    if (state[i].blank) continue;
    const ImageItems image = problem.image(i);
    for (const Candidate& c : state[i].candidates) {
      if (c.existence < kLeastExistence || c.members.size() < 2) continue;
      const auto top = std::max_element(c.class_probs.begin(), c.class_probs.end());
      if (static_cast<double>(*top) < kLeastClass) continue;
      const auto at = static_cast<std::size_t>(top - c.class_probs.begin());
      Contradicted object{state[i].classes_of(c, num_classes)[at], {}};
      for (const std::int32_t n : c.members) {
        const Item& item = image.items[static_cast<std::size_t>(n)];
        if (item.class_probs != nullptr) continue;
        const auto label = static_cast<std::uint64_t>(item.label);
        if (label != object.consensus) object.against.push_back(label);
      }
      std::sort(object.against.begin(), object.against.end());
      if (!object.against.empty()) out.push_back(std::move(object));
    }
  }
  return out;
}

/// The objects of all ranks, in the order of images.
std::vector<Contradicted> of_all_ranks(std::vector<Contradicted> own, Ranks& ranks) {
  if (ranks.is_alone()) return own;
  StateWriter state;
  state(static_cast<std::uint64_t>(own.size()));
  for (const Contradicted& object : own) state(object.consensus), state(object.against);
  own.clear();
  for (const std::string& bytes : ranks.gather(state.take())) {
    StateReader from(bytes);
    std::uint64_t count = 0;
    from(count);
    for (; count > 0; --count) {
      Contradicted object{0, {}};
      from(object.consensus);
      from.resized(object.against);
      own.push_back(std::move(object));
    }
  }
  return own;
}

double pairs_of(double n) {
  return n * (n - 1) / 2;
}

/// Pairs of equal labels in a sorted list.
double equal_pairs(const std::vector<std::uint64_t>& labels) {
  double pairs = 0;
  for (auto from = labels.begin(); from != labels.end();) {
    const auto to = std::upper_bound(from, labels.end(), *from);
    pairs += pairs_of(static_cast<double>(to - from));
    from = to;
  }
  return pairs;
}

}  // namespace

bool SharedErrors::suspicious() const {
  return objects >= kLeastObjects && excess >= kLeastExcess && standard_errors >= kStandardErrors;
}

SharedErrors find_shared_errors(const Problem& problem, const std::vector<ImageState>& state,
                                const AbsenceAwareBeliefs& beliefs, Ranks& ranks) {
  SharedErrors out;
  if (beliefs.classes < 3) return out;  // with two classes there is one way to contradict
  const std::vector<Contradicted> objects = of_all_ranks(contradicted_objects(problem, state, beliefs.classes), ranks);
  std::unordered_map<std::uint64_t, double> given, of_class, equal;  // by class and label, by class, by class
  for (const Contradicted& object : objects) {
    for (const std::uint64_t label : object.against) {
      double& n = given[object.consensus * beliefs.classes + label];
      equal[object.consensus] += n;
      n += 1;
    }
    of_class[object.consensus] += static_cast<double>(object.against.size());
  }
  double sum = 0, squares = 0, room = 0;
  for (const Contradicted& object : objects) {
    if (object.against.size() < 2) continue;
    const double chance = equal[object.consensus] / pairs_of(of_class[object.consensus]);
    const double more = equal_pairs(object.against) / pairs_of(static_cast<double>(object.against.size())) - chance;
    sum += more;
    squares += more * more;
    room += 1 - chance;
    ++out.objects;
  }
  if (room > 0) out.excess = sum / room;
  if (squares > 0) out.standard_errors = sum / std::sqrt(squares);
  return out;
}

}  // namespace bdc::absence_aware
