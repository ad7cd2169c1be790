#include "learn/bdc/absence_aware/label_agreement.h"

#include <algorithm>
#include <cmath>

#include "bdc/learn/communities.h"

namespace bdc::absence_aware {
namespace {

constexpr std::size_t kMostSources = 2000, kLeastPartners = 4;
constexpr double kLeastShared = 20, kStandardErrors = 3, kLeastShare = 0.1, kSameCommunity = 0.2, kOneVoice = 0.9;
constexpr int kSkillRounds = 30;

std::int32_t label_of(const Item& item, std::size_t classes) {
  if (item.class_probs == nullptr) return item.label;
  return static_cast<std::int32_t>(std::max_element(item.class_probs, item.class_probs + classes) - item.class_probs);
}

/// Agreement of all pairs of sources, lower triangle.
class PairTable {
 public:
  PairTable(std::size_t sources, std::size_t classes)
      : classes_(classes),
        shared_(sources * (sources + 1) / 2, 0.0F),
        same_(shared_.size(), 0.0F),
        given_(sources * classes, 0.0F),
        boxes_(sources, 0.0F) {}

  void add(const std::vector<std::pair<std::int32_t, std::int32_t>>& labels) {
    for (std::size_t a = 0; a < labels.size(); ++a) {
      const auto [k, label] = labels[a];
      given_[static_cast<std::size_t>(k) * classes_ + static_cast<std::size_t>(label)] += 1;
      boxes_[static_cast<std::size_t>(k)] += 1;
      for (std::size_t b = 0; b < a; ++b) {
        const std::size_t at = place(k, labels[b].first);
        shared_[at] += 1;
        if (labels[b].second == label) same_[at] += 1;
      }
    }
  }

  /// Adds what the other ranks have counted. A float counts up to 2^24 and stays there: so does the sum.
  void join(Ranks& ranks) {
    if (ranks.is_alone()) return;
    for (std::vector<float>* counts : {&shared_, &same_, &given_, &boxes_}) {
      std::vector<double> sums(counts->begin(), counts->end());
      ranks.all_reduce_doubles(sums);
      std::transform(sums.begin(), sums.end(), counts->begin(),
                     [](double n) { return static_cast<float>(std::min(n, 16777216.0)); });
    }
  }

  [[nodiscard]] double shared(std::size_t k, std::size_t l) const {
    return static_cast<double>(shared_[place(static_cast<std::int32_t>(k), static_cast<std::int32_t>(l))]);
  }
  /// Agreement corrected for chance and its standard error.
  [[nodiscard]] std::pair<double, double> agreement(std::size_t k, std::size_t l) const {
    double chance = 0;
    for (std::size_t j = 0; j < classes_; ++j) {
      chance += static_cast<double>(given_[k * classes_ + j]) * static_cast<double>(given_[l * classes_ + j]);
    }
    chance /= std::max(1.0, static_cast<double>(boxes_[k]) * static_cast<double>(boxes_[l]));
    const double n = shared(k, l),
                 same =
                     static_cast<double>(same_[place(static_cast<std::int32_t>(k), static_cast<std::int32_t>(l))]) / n;
    const double rest = std::max(1e-3, 1 - chance), kept = (same * n + 1) / (n + 2);
    return {(same - chance) / rest, std::sqrt(kept * (1 - kept) / n) / rest};
  }

 private:
  [[nodiscard]] static std::size_t place(std::int32_t k, std::int32_t l) {
    const auto high = static_cast<std::size_t>(std::max(k, l)), low = static_cast<std::size_t>(std::min(k, l));
    return high * (high + 1) / 2 + low;
  }
  std::size_t classes_;
  std::vector<float> shared_, same_, given_, boxes_;
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Partner {
  std::size_t other;
  double agreement, error;
};

/// p_k, or 0 for sources with too few partners.
std::vector<double> skills(const std::vector<std::vector<Partner>>& partners) {
  std::vector<double> skill(partners.size(), 0.0);
  for (std::size_t k = 0; k < partners.size(); ++k) {
    if (partners[k].size() < kLeastPartners) continue;
    std::vector<double> values;
    for (const Partner& p : partners[k]) values.push_back(p.agreement);
    skill[k] = std::sqrt(std::clamp(median_of(std::move(values)), 0.01, 1.0));
  }
  for (int round = 0; round < kSkillRounds; ++round) {
    std::vector<double> next = skill;
    for (std::size_t k = 0; k < partners.size(); ++k) {
      if (!(skill[k] > 0)) continue;
      std::vector<double> values;
      for (const Partner& p : partners[k]) {
        if (skill[p.other] > 0) values.push_back(p.agreement / skill[p.other]);
      }
      if (values.size() < kLeastPartners) continue;
      next[k] = std::clamp(0.5 * (skill[k] + median_of(std::move(values))), 0.05, 0.999);
    }
    skill = std::move(next);
  }
  return skill;
}

void set_communities(std::size_t sources, std::size_t judged, Dependence& out) {
  out.community.assign(sources, -1);
  for (const auto& group : communities(out.pairs, sources, kSameCommunity)) {
    for (const std::int32_t k : group) out.community[static_cast<std::size_t>(k)] = out.communities;
    ++out.communities;
    out.one_voice = out.one_voice || static_cast<double>(group.size()) >= kOneVoice * static_cast<double>(judged);
  }
}

}  // namespace

Dependence find_dependence(const Problem& problem, const std::vector<ImageState>& state,
                           const AbsenceAwareBeliefs& beliefs, Ranks& ranks) {
  Dependence out;
  const std::size_t S = beliefs.sources();
  if (S > kMostSources || S < kLeastPartners + 1 || beliefs.classes < 2) return out;
  PairTable table(S, beliefs.classes);
  std::vector<std::pair<std::int32_t, std::int32_t>> labels;
  for (std::size_t i = 0; i < problem.images(); ++i) {
    if (state[i].blank) continue;
    const ImageItems image = problem.image(i);
    for (const Candidate& c : state[i].candidates) {
      if (c.existence < 0.5 || c.members.size() < 2) continue;
      labels.clear();
      for (const std::int32_t n : c.members) {
        const Item& item = image.items[static_cast<std::size_t>(n)];
        labels.emplace_back(item.source, label_of(item, beliefs.classes));
      }
      table.add(labels);
    }
  }
  table.join(ranks);
  std::vector<std::vector<Partner>> partners(S);
  for (std::size_t k = 0; k < S; ++k) {
    for (std::size_t l = 0; l < k; ++l) {
      if (table.shared(k, l) < kLeastShared) continue;
      const auto [agreement, error] = table.agreement(k, l);
      partners[k].push_back({l, agreement, error});
      partners[l].push_back({k, agreement, error});
    }
  }
  const std::vector<double> skill = skills(partners);
  std::size_t judged = 0;
  for (std::size_t k = 0; k < S; ++k) {
    if (!(skill[k] > 0)) continue;
    ++judged;
    for (const Partner& p : partners[k]) {
      if (p.other <= k || !(skill[p.other] > 0)) continue;
      const double expected = skill[k] * skill[p.other], left = std::max(0.02, 1 - expected);
      const double share = (p.agreement - expected) / left;
      if (share < std::max(kLeastShare, kStandardErrors * p.error / left)) continue;
      out.pairs.push_back({static_cast<std::int32_t>(k), static_cast<std::int32_t>(p.other), std::min(1.0, share)});
    }
  }
  std::sort(out.pairs.begin(), out.pairs.end(), [](const Dependence::Pair& a, const Dependence::Pair& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  });
  if (!out.pairs.empty()) set_communities(S, judged, out);
  return out;
}

}  // namespace bdc::absence_aware
