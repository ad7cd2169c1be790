// bdc-bench: times the aggregation library on simulated crowds and compares with recorded times of other programs.
//   bdc-bench                 all workloads, with ratios to the recorded times
//   bdc-bench growth          how processor time grows with images, annotators and classes
//   bdc-bench many [profile]  100,000 annotators, 80 classes, 2 million annotations: time and peak memory
//   bdc-bench <name> ...      the workloads whose names contain one of the words
// Options: --threads N (default 1), --repeat N (default 5; the best time counts), --reference FILE.
// Every workload runs in a process of its own, so that its peak memory is its own.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bdc/base/parallel.h"
#include "bdc/learn/bdc/bdc_model.h"
#include "bdc/learn/learners.h"
#include "bdc/metrics/coco_eval.h"
#include "sim_crowd.h"
#include "sim_detections.h"

namespace {

using bdc::BenchCrowd;
using bdc::SimulatedCrowdOptions;

struct Settings {
  int threads = 1;
  int repeat = 5;
  std::string reference = BDC_BENCH_REFERENCE;
};

struct Times {
  double wall = 0, cpu = 0;  ///< cpu: of all threads together
};

double cpu_now() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// The best of several runs, wall and processor time each by itself.
Times best_of(int repeat, const std::function<void()>& work) {
  Times best{1e300, 1e300};
  for (int r = 0; r < repeat; ++r) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = cpu_now();
    work();
    best.cpu = std::min(best.cpu, cpu_now() - cpu);
    best.wall = std::min(best.wall, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

/// The peak of memory counts from here: what simulating the data took is given back.
void forget_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

/// What a workload reports from its own process.
struct Report {
  Times time;
  double size = 0;  ///< annotations, or detections
};

/// Runs work in a child process; peak_mb is the child's largest resident set.
Report in_own_process(const std::function<Report()>& work, double& peak_mb) {
  int channel[2];
  if (pipe(channel) != 0) throw std::runtime_error("no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    int status = 0;
    try {
      const Report report = work();
      if (write(channel[1], &report, sizeof(report)) != static_cast<ssize_t>(sizeof(report))) status = 1;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      status = 1;
    }
    _exit(status);
  }
  close(channel[1]);
  Report report;
  const bool complete = read(channel[0], &report, sizeof(report)) == static_cast<ssize_t>(sizeof(report));
  close(channel[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (!complete || status != 0) throw std::runtime_error("the workload failed");
  peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  return report;
}

bdc::ImagePredictions predictions_of(const BenchCrowd& s, std::size_t i) {
  const std::size_t first = s.predictions.begin[i];
  return {{s.predictions.box.data() + first, s.predictions.begin[i + 1] - first},
          s.predictions.class_probs.data() + first * s.crowd.classes.size()};
}

/// One step: match and aggregate every image, update every annotator, read the targets.
Report bdc_step(SimulatedCrowdOptions options, bool paper, const Settings& settings) {
  options.with_truth = false;
  const BenchCrowd s = bdc::simulate_crowd(options);
  forget_peak();
  const std::size_t images = s.crowd.images.size();
  std::vector<std::int32_t> room(images);
  for (std::size_t i = 0; i < images; ++i) {
    room[i] = static_cast<std::int32_t>(s.predictions.begin[i + 1] - s.predictions.begin[i]);
  }
  std::unique_ptr<bdc::BdcModel> model;
  if (paper) {
    model = bdc::make_paper_model(s.crowd, bdc::paper_parameters(), nullptr, room);
  } else {
    model = bdc::make_reference_model(s.crowd, bdc::reference_parameters(), nullptr, room);
  }
  std::size_t targets = 0;
  const Times time = best_of(settings.repeat, [&] {
    bdc::parallel_chunks(images, 64, settings.threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      thread_local bdc::BdcModel::Workspace workspace;
      for (std::size_t i = begin; i < end; ++i) model->aggregate_image(i, predictions_of(s, i), workspace);
    });
    (void)model->update(settings.threads);
    for (std::size_t i = 0; i < images; ++i) {  // the targets, read where they are, as training does
      for (std::size_t n = 0; n < model->num_objects(i); ++n)
        targets += model->weight(i, n) > model->parameters().min_weight;
    }
  });
  if (targets == 0) throw std::runtime_error("no targets");
  return {time, static_cast<double>(s.crowd.annotations.size())};
}

Report method(const SimulatedCrowdOptions& options, const char* name, const std::map<std::string, std::string>& values,
              const Settings& settings) {
  SimulatedCrowdOptions without = options;
  without.with_predictions = without.with_truth = false;
  const BenchCrowd s = bdc::simulate_crowd(without);
  forget_peak();
  const auto chosen = bdc::make_learner(name, values);
  bdc::FitInput input;
  input.crowd = &s.crowd;
  input.threads = settings.threads;
  std::size_t targets = 0;
  const Times time = best_of(settings.repeat, [&] { targets += chosen->fit(input).targets.box.size(); });
  if (targets == 0) throw std::runtime_error("no targets");
  return {time, static_cast<double>(s.crowd.annotations.size())};
}

Report coco_evaluation(int images, int classes, int objects, int detections, const Settings& settings) {
  const bdc::SimulatedDetections s = bdc::simulate_detections(images, classes, objects, detections, 7);
  bdc::CocoEvalOptions options;
  options.threads = settings.threads;
  double ap = 0;
  const Times time = best_of(settings.repeat, [&] {
    ap += bdc::coco_evaluate(s.detections, s.truth, static_cast<std::size_t>(images), static_cast<std::size_t>(classes),
                             options)
              .stats[0];
  });
  if (!(ap > 0)) throw std::runtime_error("nothing found");
  return {time, static_cast<double>(s.detections.size())};
}

struct Workload {
  std::string name;  ///< as in the reference: workload/method
  std::function<Report(const Settings&)> run;
};

SimulatedCrowdOptions preset(const char* name, int images) {
  SimulatedCrowdOptions options = bdc::simulated_preset(name);
  options.images = images;
  return options;
}

std::vector<Workload> all_workloads() {
  std::vector<Workload> list;
  for (const auto& [name, images] :
       {std::pair<const char*, int>{"voc-full", 5011}, {"voc-mix", 5011}, {"coco-mix", 10000}}) {
    const SimulatedCrowdOptions o = preset(name, images);
    const std::string prefix = std::string(name) + "/";
    list.push_back({prefix + "bdc_detector", [o](const Settings& s) { return bdc_step(o, false, s); }});
    list.push_back({prefix + "bdc_detector (paper)", [o](const Settings& s) { return bdc_step(o, true, s); }});
    list.push_back({prefix + "bdc_warmup", [o](const Settings& s) {
                      return method(o, "bdc", {{"profile", "reference"}, {"max_rounds", "1"}}, s);
                    }});
    list.push_back({prefix + "bdc_warmup (absence_aware)", [o](const Settings& s) {
                      Settings once = s;
                      once.repeat = 1;
                      return method(o, "bdc", {{"profile", "absence_aware"}, {"max_rounds", "1"}}, once);
                    }});
    list.push_back({prefix + "fit (absence_aware)", [o](const Settings& s) {
                      Settings once = s;
                      once.repeat = 1;
                      return method(o, "bdc", {{"profile", "absence_aware"}}, once);
                    }});
    list.push_back({prefix + "mv", [o](const Settings& s) { return method(o, "mv", {}, s); }});
    list.push_back({prefix + "earl", [o](const Settings& s) { return method(o, "wbf-earl", {}, s); }});
  }
  list.push_back({"many-classes/fit (absence_aware)", [](const Settings& s) {
                    SimulatedCrowdOptions o = preset("voc-mix", 200);
                    o.classes = 1203;
                    for (bdc::host::GroupSpec& group : o.groups) group.annotators = 1;
                    return method(o, "bdc", {{"profile", "absence_aware"}}, s);
                  }});
  list.push_back({"coco-eval/bbox", [](const Settings& s) { return coco_evaluation(5000, 80, 36000, 100, s); }});
  return list;
}

struct Reference {
  double time = 0, peak_mb = 0;
};

/// The recorded row of a workload; zeros when there is none.
Reference recorded(const nlohmann::json& file, const std::string& name) {
  for (const auto& row : file["rows"]) {
    const std::string key = row["workload"].get<std::string>() + "/" + row["method"].get<std::string>();
    if (name.rfind(key, 0) == 0) return {row["best_wall_seconds"], row["peak_rss_mb"]};
  }
  return {};
}

void run_workloads(const std::vector<std::string>& words, const Settings& settings) {
  std::ifstream in(settings.reference);
  if (!in) throw std::runtime_error("cannot open " + settings.reference);
  const nlohmann::json reference = nlohmann::json::parse(in);
  std::printf("%-36s %9s %9s %9s %8s %8s %9s %8s\n", "workload", "time", "cpu", "recorded", "faster", "peak MB",
              "recorded", "smaller");
  for (const Workload& w : all_workloads()) {
    const bool wanted = words.empty() || std::any_of(words.begin(), words.end(), [&](const std::string& word) {
                          return w.name.find(word) != std::string::npos;
                        });
    if (!wanted) continue;
    double peak = 0;
    const Report report = in_own_process([&] { return w.run(settings); }, peak);
    const Reference r = recorded(reference, w.name);
    std::printf("%-36s %8.4fs %8.4fs %8.3fs %7.0fx %8.1f %9.1f %7.1fx\n", w.name.c_str(), report.time.wall,
                report.time.cpu, r.time, r.time / report.time.wall, peak, r.peak_mb, r.peak_mb / peak);
  }
}

void print_growth(const char* what, const std::vector<std::pair<int, std::function<Report()>>>& sizes) {
  std::vector<double> times;
  std::printf("%-56s", what);
  for (const auto& [size, work] : sizes) {
    double peak = 0;
    times.push_back(in_own_process(work, peak).time.cpu);
    std::printf(" %7d: %8.4fs", size, times.back());
  }
  const double factor = static_cast<double>(sizes.back().first) / static_cast<double>(sizes.front().first);
  std::printf("   x%.0f -> x%.1f\n", factor, times.back() / times.front());
}

/// The same annotations spread over more annotators.
SimulatedCrowdOptions spread(SimulatedCrowdOptions options, int factor) {
  for (bdc::host::GroupSpec& group : options.groups) {
    group.annotators *= factor;
    group.coverage /= factor;
  }
  return options;
}

void run_growth(const Settings& settings) {
  using Sizes = std::vector<std::pair<int, std::function<Report()>>>;
  Settings once = settings;
  once.repeat = 1;
  struct Case {
    const char* name;
    std::function<Report(const SimulatedCrowdOptions&)> run;
  };
  const std::vector<Case> cases{
      {"bdc step, reference", [&](const SimulatedCrowdOptions& o) { return bdc_step(o, false, settings); }},
      {"bdc step, paper", [&](const SimulatedCrowdOptions& o) { return bdc_step(o, true, settings); }},
      {"bdc round, absence_aware",
       [&](const SimulatedCrowdOptions& o) {
         return method(o, "bdc", {{"profile", "absence_aware"}, {"max_rounds", "1"}}, once);
       }},
      {"mv", [&](const SimulatedCrowdOptions& o) { return method(o, "mv", {}, settings); }},
      {"earl", [&](const SimulatedCrowdOptions& o) { return method(o, "wbf-earl", {}, settings); }}};
  for (const Case& c : cases) {
    Sizes images, annotators, classes;
    for (const int factor : {1, 4, 16}) {
      SimulatedCrowdOptions o = preset("voc-mix", 625 * factor);
      images.push_back({o.images, [=] { return c.run(o); }});
      o = spread(preset("voc-mix", 2500), factor);
      annotators.push_back({25 * factor, [=] { return c.run(o); }});
      o = preset("voc-mix", 1250);
      o.classes = 80 * factor;
      classes.push_back({o.classes, [=] { return c.run(o); }});
    }
    print_growth((std::string(c.name) + ": images").c_str(), images);
    print_growth((std::string(c.name) + ": annotators, same annotations").c_str(), annotators);
    print_growth((std::string(c.name) + ": classes").c_str(), classes);
  }
  Sizes images, classes;
  for (const int factor : {1, 4, 16}) {
    images.push_back({625 * factor, [=] { return coco_evaluation(625 * factor, 80, 4500 * factor, 100, settings); }});
    classes.push_back({20 * factor, [=] { return coco_evaluation(2500, 20 * factor, 18000, 100, settings); }});
  }
  print_growth("coco evaluation: images", images);
  print_growth("coco evaluation: classes", classes);
}

void run_many(const Settings& settings, const std::string& only) {
  SimulatedCrowdOptions o;
  o.images = 100000;
  o.classes = 80;
  const auto group = [](const char* skill, int annotators, double coverage) {
    return bdc::host::GroupSpec{skill, annotators, coverage, bdc::host::skill_numbers(skill)};
  };
  o.groups = {group("expert", 5000, 9e-5), group("average", 70000, 8e-5), group("poor", 25000, 1e-4)};
  o.with_predictions = false;
  Settings once = settings;
  once.repeat = 1;
  for (const bdc::LearnerEntry& entry : bdc::learners()) {
    const std::string& profile = entry.info.name;
    if (entry.info.profile_of != "bdc" || (!only.empty() && profile != only)) continue;
    double peak = 0;
    const Report report = in_own_process(
        [&] {
          return method(o, "bdc", {{"profile", profile}, {"max_rounds", "5"}}, once);
        },
        peak);
    std::printf(
        "%-14s 100000 annotators, 80 classes, %.0f annotations: 5 rounds in %.1f s (processor %.1f s), peak %.0f MB\n",
        profile.c_str(), report.size, report.time.wall, report.time.cpu, peak);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Settings settings;
    std::vector<std::string> words;
    for (int a = 1; a < argc; ++a) {
      const std::string word = argv[a];
      const bool has_value = a + 1 < argc;
      if (word == "--threads" && has_value) {
        settings.threads = std::atoi(argv[++a]);
      } else if (word == "--repeat" && has_value) {
        settings.repeat = std::max(1, std::atoi(argv[++a]));
      } else if (word == "--reference" && has_value) {
        settings.reference = argv[++a];
      } else {
        words.push_back(word);
      }
    }
    if (words.size() == 1 && words[0] == "growth") {
      run_growth(settings);
    } else if (!words.empty() && words[0] == "many") {
      run_many(settings, words.size() > 1 ? words[1] : "");
    } else {
      run_workloads(words, settings);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bdc-bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
