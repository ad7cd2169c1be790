// bdc-quality: aggregation AP of the methods against the truth, as the tables in docs/method.md show it.
//   bdc-quality                            simulated crowds: voc-full, voc-mix, noisy, seeds 11 to 13, 1000 images
//   bdc-quality --crowd C --truth T        a real crowd with truth
//   bdc-quality --rounds 10,20,50          absence_aware alone, stopped after so many rounds (no other criterion)
// Options: --presets a,b --seeds 11-13 --images N --methods a,b --threads N
// `bench/quality.sh` builds and runs it.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bdc/crowd/coco.h"
#include "bdc/crowd/crowd_io.h"
#include "bdc/learn/learners.h"
#include "bdc/metrics/aggregation_ap.h"
#include "sim_crowd.h"

namespace {

struct Settings {
  std::vector<std::string> presets{"voc-full", "voc-mix", "noisy"};
  std::vector<std::string> methods{"absence_aware", "reference", "paper", "mv", "wbf", "wbf-earl"};
  std::vector<std::string> rounds;
  int first_seed = 11, last_seed = 13, images = 1000, threads = 0;
  std::string crowd, truth;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (i + 1 >= argc) throw std::invalid_argument(name + " needs a value");
    const std::string value = argv[++i];
    if (name == "--presets") {
      s.presets = split(value);
    } else if (name == "--methods") {
      s.methods = split(value);
    } else if (name == "--rounds") {
      s.rounds = split(value);
    } else if (name == "--seeds") {
      const std::size_t dash = value.find('-');
      s.first_seed = std::stoi(value);
      s.last_seed = dash == std::string::npos ? s.first_seed : std::stoi(value.substr(dash + 1));
    } else if (name == "--images") {
      s.images = std::stoi(value);
    } else if (name == "--threads") {
      s.threads = std::stoi(value);
    } else if (name == "--crowd") {
      s.crowd = value;
    } else if (name == "--truth") {
      s.truth = value;
    } else {
      throw std::invalid_argument("unknown option " + name);
    }
  }
  return s;
}

struct Ap {
  double ap50 = 0, ap75 = 0, ap = 0;
};

Ap run(bdc::Learner& method, const bdc::BenchCrowd& data, bool with_detector, int threads) {
  bdc::FitInput input;
  input.crowd = &data.crowd;
  input.predictions = with_detector ? &data.predictions : nullptr;
  input.threads = threads;
  const bdc::FitResult result = method.fit(input);
  bdc::CocoEvalOptions options;
  options.threads = threads;
  const std::vector<char> covered(data.crowd.truth_covers.begin(), data.crowd.truth_covers.end());
  const auto stats = bdc::evaluate_targets(result.targets, data.crowd, options, covered).stats;
  return {100 * stats[1], 100 * stats[2], 100 * stats[0]};
}

/// A row of the table: what it is called and the method with its options.
struct Row {
  std::string name, method;
  std::map<std::string, std::string> options;
};

std::vector<Row> table_rows(const Settings& s) {
  std::vector<Row> rows;
  for (const std::string& rounds : s.rounds) {
    rows.push_back(
        {"absence_aware, " + rounds + " rounds", "absence_aware", {{"max_rounds", rounds}, {"tolerance", "0"}}});
  }
  if (!rows.empty()) return rows;
  for (const std::string& name : s.methods) {
    if (name == "mv") {
      for (const char* box : {"majority", "average", "union", "intersect"}) {
        rows.push_back({std::string("mv, ") + box, "mv", {{"box", box}}});
      }
    } else {
      rows.push_back({name, name, {}});
    }
  }
  return rows;
}

bool uses_predictions(const Row& row) {
  return bdc::learner_traits(row.method).uses_detections;
}

void simulated_table(const Settings& s) {
  std::printf(
      "| crowd | method | without detector AP50/AP75/AP | with detector AP50/AP75/AP | AP per seed "
      "|\n|---|---|---|---|---|\n");
  const std::vector<Row> rows = table_rows(s);
  for (const std::string& preset : s.presets) {
    std::vector<std::vector<Ap>> without(rows.size()), with(rows.size());
    for (int seed = s.first_seed; seed <= s.last_seed; ++seed) {
      bdc::SimulatedCrowdOptions options = bdc::simulated_preset(preset);
      options.images = s.images;
      options.seed = static_cast<std::uint64_t>(seed);
      const bdc::BenchCrowd data = bdc::simulate_crowd(options);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const auto method = bdc::make_learner(rows[r].method, rows[r].options);
        without[r].push_back(run(*method, data, false, s.threads));
        if (uses_predictions(rows[r])) with[r].push_back(run(*method, data, true, s.threads));
      }
    }
    const auto mean = [](const std::vector<Ap>& list) {
      Ap sum;
      for (const Ap& a : list) {
        sum.ap50 += a.ap50;
        sum.ap75 += a.ap75;
        sum.ap += a.ap;
      }
      const auto n = static_cast<double>(list.size());
      return Ap{sum.ap50 / n, sum.ap75 / n, sum.ap / n};
    };
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Ap a = mean(without[r]);
      std::printf("| %s | %s | %.1f/%.1f/%.1f |", preset.c_str(), rows[r].name.c_str(), a.ap50, a.ap75, a.ap);
      if (with[r].empty()) {
        std::printf(" - |");
      } else {
        const Ap b = mean(with[r]);
        std::printf(" %.1f/%.1f/%.1f |", b.ap50, b.ap75, b.ap);
      }
      for (const Ap& x : without[r]) std::printf(" %.1f", x.ap);
      if (!with[r].empty()) std::printf(";");
      for (const Ap& x : with[r]) std::printf(" %.1f", x.ap);
      std::printf(" |\n");
    }
    std::fflush(stdout);
  }
}

void real_table(const Settings& s) {
  bdc::BenchCrowd data;
  data.crowd = bdc::read_crowd({s.crowd});
  bdc::attach_truth(data.crowd, s.truth);
  std::printf("| method | AP50/AP75/AP |\n|---|---|\n");
  for (const Row& row : table_rows(s)) {
    const Ap a = run(*bdc::make_learner(row.method, row.options), data, false, s.threads);
    std::printf("| %s | %.1f/%.1f/%.1f |\n", row.name.c_str(), a.ap50, a.ap75, a.ap);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = parse(argc, argv);
    if (settings.crowd.empty()) {
      simulated_table(settings);
    } else {
      real_table(settings);
    }
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bdc-quality: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
