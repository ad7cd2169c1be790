// bdc-plan-table: AP of the labels against looks spent, by who is asked what next; the table of docs/plan.md.
//   bdc-plan-table [--seeds 1-5] [--images 200] [--rounds 5] [--crowds a,b] [--threads N]
// Every image starts with `start` looks of random people. In each round as many looks as 40 % of the images are added
// and bdc is fitted anew. In a round everybody has time for twice an equal share of the looks, whoever chooses.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bdc/learn/learners.h"
#include "bdc/learn/plan/look_plan.h"
#include "bdc/metrics/aggregation_ap.h"
#include "bdc/metrics/disagreement.h"
#include "support/random_scenes.h"
#include "synth/simulate.h"

namespace {

using bdc::CrowdData;
using bdc::FitResult;

struct Settings {
  std::vector<std::string> crowds{"voc-full", "noisy", "half-poor", "mostly-empty"};
  int first_seed = 1, last_seed = 5, images = 200, rounds = 5, threads = 0;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

bdc::host::GroupSpec group(const std::string& skill, std::int64_t annotators, bdc::host::SkillNumbers numbers) {
  bdc::host::GroupSpec out;
  out.skill = skill;
  out.annotators = annotators;
  out.numbers = numbers;
  return out;
}

/// A crowd in which everybody has labelled everything: what there is to ask for.
struct Pool {
  CrowdData crowd;
  int start = 2;  ///< looks at every image before anything is planned
};

Pool make_pool(const std::string& name, int images, std::uint64_t seed) {
  Pool out;
  bdc::host::CrowdSpec spec;
  int classes = 20;
  double empty = 0;
  if (name == "half-poor") {
    spec.groups = {group("average", 6, bdc::host::skill_numbers("average")),
                   group("poor", 6, bdc::host::skill_numbers("poor"))};
  } else if (name == "mostly-empty") {
    // Readers of radiographs: careful ones, average ones and hasty ones.
    spec.groups = {group("careful", 4, {0.85, 0.05, 0.85, 0.08}), group("usual", 4, {0.7, 0.1, 0.75, 0.1}),
                   group("hasty", 4, {0.5, 0.15, 0.65, 0.12})};
    classes = 14;
    empty = 0.7;
  } else {
    spec.groups = bdc::host::crowd_preset(name).groups;
    if (name == "noisy") {
      classes = 10;
      out.start = 4;
    }
  }
  for (auto& one : spec.groups) one.coverage = 1;
  const auto occupied = static_cast<std::size_t>(std::lround(images * (1 - empty)));
  out.crowd = bdc::test::random_scenes(occupied, static_cast<std::size_t>(classes), seed);
  if (empty > 0) (void)bdc::host::add_empty_images(out.crowd, empty);
  bdc::host::SimulateSettings settings;
  settings.seed = seed;
  (void)bdc::host::simulate_crowd(out.crowd, bdc::host::make_members(spec, out.crowd, seed), settings);
  return out;
}

using Looks = std::vector<std::vector<char>>;  // [image][annotator]: taken

/// The labels that these looks have brought.
CrowdData part_of(const CrowdData& all, const Looks& taken) {
  CrowdData out = all;
  const auto keep = [&](const auto& row) {
    return taken[static_cast<std::size_t>(row.image)][static_cast<std::size_t>(row.annotator)] == 0;
  };
  out.annotations.erase(std::remove_if(out.annotations.begin(), out.annotations.end(), keep), out.annotations.end());
  out.assignments.erase(std::remove_if(out.assignments.begin(), out.assignments.end(), keep), out.assignments.end());
  out.assignments_known = true;
  out.finalize();
  return out;
}

struct State {
  CrowdData crowd;
  FitResult fit;
  Looks taken;
  std::vector<double> left;  ///< looks that each annotator has time for in this round
};

/// Takes up to `count` looks: images in this order, again and again, each shown to a random person who may.
void ask_in_order(const std::vector<std::size_t>& images, std::size_t count, bdc::Random& random, State& state) {
  std::size_t idle = 0;
  for (std::size_t at = 0; count > 0 && idle < images.size(); ++at) {
    const std::size_t i = images[at % images.size()];
    std::vector<std::size_t> people;
    for (std::size_t k = 0; k < state.left.size(); ++k) {
      if (state.taken[i][k] == 0 && state.left[k] >= 1) people.push_back(k);
    }
    ++idle;
    if (people.empty()) continue;
    const std::size_t k = people[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(people.size())))];
    state.taken[i][k] = 1;
    state.left[k] -= 1;
    --count;
    idle = 0;
  }
}

std::vector<std::size_t> ordered(const std::vector<double>& value) {
  std::vector<std::size_t> out(value.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::stable_sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) { return value[a] > value[b]; });
  return out;
}

void at_random(std::size_t count, bdc::Random& random, State& state) {
  std::vector<double> value(state.crowd.images.size());
  for (double& v : value) v = random.uniform();
  ask_in_order(ordered(value), count, random, state);
}

/// Disagreement x boxes per look, as the report's gallery ranks images.
void most_disputed(std::size_t count, bdc::Random& random, State& state) {
  std::vector<double> value = bdc::image_disagreement(state.crowd);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const double boxes = static_cast<double>(state.crowd.annotation_begin[i + 1] - state.crowd.annotation_begin[i]);
    value[i] *=
        boxes /
        std::max(1.0, static_cast<double>(state.crowd.assignment_begin[i + 1] - state.crowd.assignment_begin[i]));
  }
  ask_in_order(ordered(value), count, random, state);
}

/// What the report of 0.4 ranked by: how much more often the best decision at a place is right after a look of the
/// median annotator.
double median_gain(const bdc::Targets& t, std::size_t n, const bdc::Looker& next) {
  const auto J = static_cast<std::size_t>(t.num_classes);
  const double width = t.box[n].width(), height = t.box[n].height();
  double before = 0, after = 0;
  for (std::size_t e = 0; e < 4; ++e) {
    const double size = e % 2 == 0 ? width : height, now = t.box_std[n][e], other = next.box_noise * size;
    before += now / size;
    after += now > 0 && other > 0 ? 1 / std::sqrt(1 / (now * now) + 1 / (other * other)) / size : 0;
  }
  const double overlap = std::exp(-0.8 * before), overlap_after = std::exp(-0.8 * after);
  const double exists = t.existence[n], spurious = 1 - std::exp(-next.spurious);
  double top = 0;
  for (std::size_t j = 0; j < J; ++j) top = std::max(top, t.class_prob(n, j));
  double then = std::max((1 - exists) * (1 - spurious), exists * top * (1 - next.recall) * overlap);
  for (std::size_t l = 0; l < J; ++l) {
    double best = 0;
    for (std::size_t j = 0; j < J; ++j) {
      best = std::max(best,
                      t.class_prob(n, j) * (j == l ? next.accuracy : (1 - next.accuracy) / static_cast<double>(J - 1)));
    }
    then += std::max((1 - exists) * spurious / static_cast<double>(J), exists * next.recall * best * overlap_after);
  }
  return then - std::max(1 - exists, exists * top * overlap);
}

void by_median_annotator(std::size_t count, bdc::Random& random, State& state) {
  const bdc::Looker next = bdc::median_annotator(*state.fit.posteriors);
  const bdc::Targets& t = state.fit.targets;
  std::vector<double> value(state.crowd.images.size(), 0.0);
  for (std::size_t i = 0; i < value.size(); ++i) {
    for (std::size_t n = t.begin[i]; n < t.begin[i + 1]; ++n) value[i] = std::max(value[i], median_gain(t, n, next));
  }
  ask_in_order(ordered(value), count, random, state);
}

void by_plan(std::size_t count, bdc::Random&, State& state) {
  bdc::LookTerms terms;
  terms.looks = state.left;
  bdc::PlanSettings settings;
  settings.budget = static_cast<double>(count);
  const bdc::LookPlan plan = bdc::plan_looks(state.crowd, state.fit.targets, &*state.fit.posteriors, terms, settings);
  for (const bdc::PlannedLook& look : plan.looks) {
    state.taken[static_cast<std::size_t>(look.image)][static_cast<std::size_t>(look.annotator)] = 1;
    state.left[static_cast<std::size_t>(look.annotator)] -= 1;
  }
}

struct Strategy {
  const char* name;
  std::function<void(std::size_t, bdc::Random&, State&)> ask;
};

void fit(State& state, const Pool& pool, int threads) {
  state.crowd = part_of(pool.crowd, state.taken);
  bdc::FitInput input;
  input.crowd = &state.crowd;
  input.threads = threads;
  state.fit = bdc::make_learner("absence_aware")->fit(input);
}

int run(const Settings& s) {
  const std::vector<Strategy> strategies{{"random", at_random},
                                         {"most disputed", most_disputed},
                                         {"median annotator", by_median_annotator},
                                         {"plan", by_plan}};
  for (const std::string& name : s.crowds) {
    std::vector<std::vector<double>> ap(strategies.size(), std::vector<double>(static_cast<std::size_t>(s.rounds) + 1));
    std::vector<double> looks(static_cast<std::size_t>(s.rounds) + 1);
    const int seeds = s.last_seed - s.first_seed + 1;
    for (int seed = s.first_seed; seed <= s.last_seed; ++seed) {
      const Pool pool = make_pool(name, s.images, static_cast<std::uint64_t>(seed));
      const std::size_t images = pool.crowd.images.size(), K = pool.crowd.annotators.size();
      const auto batch = static_cast<std::size_t>(0.4 * static_cast<double>(images));
      const double share = 2 * static_cast<double>(batch) / static_cast<double>(K);
      for (std::size_t one = 0; one < strategies.size(); ++one) {
        bdc::Random random(static_cast<std::uint64_t>(seed), 77, 0);
        State state;
        state.taken.assign(images, std::vector<char>(K, 0));
        for (auto& row : state.taken) {
          std::vector<std::size_t> people(K);
          std::iota(people.begin(), people.end(), std::size_t{0});
          for (int n = 0; n < pool.start; ++n) {
            const auto at =
                static_cast<std::size_t>(n) + static_cast<std::size_t>(random.below(static_cast<std::int64_t>(K) - n));
            std::swap(people[static_cast<std::size_t>(n)], people[at]);
            row[people[static_cast<std::size_t>(n)]] = 1;
          }
        }
        for (std::size_t round = 0;; ++round) {
          fit(state, pool, s.threads);
          ap[one][round] += 100 * bdc::evaluate_targets(state.fit.targets, state.crowd).stats[0] / seeds;
          if (one == 0) {
            looks[round] += static_cast<double>(state.crowd.assignments.size()) / static_cast<double>(images) / seeds;
          }
          if (round == static_cast<std::size_t>(s.rounds)) break;
          state.left.assign(K, std::floor(share));
          strategies[one].ask(batch, random, state);
        }
      }
    }
    std::printf("\n%s: mean AP of %d seeds, %d images\n| looks per image |", name.c_str(), seeds, s.images);
    for (const double x : looks) std::printf(" %.1f |", x);
    std::printf("\n|---|");
    for (std::size_t n = 0; n < looks.size(); ++n) std::printf("---|");
    for (std::size_t one = 0; one < strategies.size(); ++one) {
      std::printf("\n| %s |", strategies[one].name);
      for (const double x : ap[one]) std::printf(" %.1f |", x);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (i + 1 >= argc) throw std::invalid_argument(name + " needs a value");
    const std::string value = argv[++i];
    if (name == "--crowds") {
      s.crowds = split(value);
    } else if (name == "--seeds") {
      const std::size_t dash = value.find('-');
      s.first_seed = std::stoi(value);
      s.last_seed = dash == std::string::npos ? s.first_seed : std::stoi(value.substr(dash + 1));
    } else if (name == "--images") {
      s.images = std::stoi(value);
    } else if (name == "--rounds") {
      s.rounds = std::stoi(value);
    } else if (name == "--threads") {
      s.threads = std::stoi(value);
    } else {
      throw std::invalid_argument("unknown option " + name);
    }
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bdc-plan-table: %s\n", e.what());
    return 1;
  }
}
