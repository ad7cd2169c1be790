// bdc-decisions-table CROWD TRUTH [N]: what N decisions (40) of a trusted person bring, at the places that the report's
// page ranks first and at random places (mean of 5 seeds); the table of docs/decisions.md. The person is played by the
// true boxes: a place is the nearest true object that overlaps it by 0.1 or more, or nothing.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include "bdc/base/random.h"
#include "bdc/crowd/coco.h"
#include "bdc/crowd/crowd_io.h"
#include "bdc/learn/learners.h"
#include "bdc/learn/plan/look_plan.h"
#include "bdc/learn/settled.h"
#include "bdc/metrics/aggregation_ap.h"

namespace {

using namespace bdc;

constexpr double kThere = 0.1, kShown = 0.02;

Decisions decide(const CrowdData& crowd, const Targets& targets, const std::vector<RankedPlace>& places,
                 std::size_t count) {
  Decisions out;
  std::set<std::size_t> used;
  for (const RankedPlace& place : places) {
    if (out.list.size() == count) break;
    const auto i = static_cast<std::size_t>(place.image);
    const Box& box = targets.box[place.target];
    Decision d;
    d.image = place.image;
    d.place = d.box = box;
    double best = kThere;
    std::size_t found = crowd.truth.size();
    for (std::size_t t = crowd.truth_begin[i]; t < crowd.truth_begin[i + 1]; ++t) {
      if (used.count(t) > 0 || iou(crowd.truth[t].box, box) < best) continue;
      best = iou(crowd.truth[t].box, box);
      found = t;
    }
    if (found < crowd.truth.size()) {
      used.insert(found);
      d.object = true;
      d.box = crowd.truth[found].box;
      d.label = crowd.truth[found].label;
    }
    out.list.push_back(d);
  }
  std::stable_sort(out.list.begin(), out.list.end(),
                   [](const Decision& a, const Decision& b) { return a.image < b.image; });
  return out;
}

struct Ap {
  double ap50 = 0, ap75 = 0, ap = 0;
};

Ap ap_of(const Targets& targets, const CrowdData& crowd) {
  const std::vector<char> evaluated(crowd.truth_covers.begin(), crowd.truth_covers.end());
  const auto stats = evaluate_targets(targets, crowd, {}, evaluated).stats;
  return {100 * stats[1], 100 * stats[2], 100 * stats[0]};
}

int run(const std::string& labels, const std::string& truth, std::size_t count) {
  CrowdData crowd = read_crowd({labels}, {});
  (void)attach_truth(crowd, truth);
  FitInput input;
  input.crowd = &crowd;
  const auto learner = make_learner("absence_aware");
  const FitResult before = learner->fit(input);
  std::vector<RankedPlace> ranked = places_worth_a_look(before.targets, trusted_person());
  const auto hidden = [&](const RankedPlace& p) {
    return crowd.truth_covers[static_cast<std::size_t>(p.image)] == 0 || before.targets.existence[p.target] < kShown;
  };
  ranked.erase(std::remove_if(ranked.begin(), ranked.end(), hidden), ranked.end());
  std::printf("| %zu decisions | AP50 | AP75 | AP |\n|---|---|---|---|\n", count);
  const auto row = [](const char* name, const Ap& x) {
    std::printf("| %s | %.1f | %.1f | %.1f |\n", name, x.ap50, x.ap75, x.ap);
  };
  row("none", ap_of(before.targets, crowd));
  Ap mean;
  constexpr int seeds = 5;
  for (int seed = 1; seed <= seeds; ++seed) {
    std::vector<RankedPlace> places = ranked;
    Random random(static_cast<std::uint64_t>(seed));
    for (std::size_t n = places.size(); n > 1; --n) {
      std::swap(places[n - 1], places[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(n)))]);
    }
    const auto fit = fit_with_decisions(*learner, input, decide(crowd, before.targets, places, count));
    const Ap one = ap_of(fit.result.targets, crowd);
    mean.ap50 += one.ap50 / seeds;
    mean.ap75 += one.ap75 / seeds;
    mean.ap += one.ap / seeds;
  }
  row("at random places", mean);
  row("where the page ranks first",
      ap_of(fit_with_decisions(*learner, input, decide(crowd, before.targets, ranked, count)).result.targets, crowd));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3 || argc > 4) throw std::invalid_argument("usage: bdc-decisions-table CROWD TRUTH [N]");
    return run(argv[1], argv[2], argc > 3 ? std::stoul(argv[3]) : 40);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bdc-decisions-table: %s\n", e.what());
    return 1;
  }
}
