#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <iomanip>
#include <iostream>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "cli/config/complete.h"
#include "cli/config/config.h"
#include "cli/config/data_places.h"
#include "cli/config/run_file.h"
#include "cli/config/schema.h"
#include "cli/open_engine.h"
#include "cli/verb.h"
#include "cli/verbs/annotator_table.h"
#include "cli/verbs/evaluation_table.h"
#include "cli/verbs/processes.h"
#include "cli/verbs/shared_options.h"
#include "launch/local_ranks.h"

namespace bdc::host {
namespace {

std::atomic<bool> stop_asked{false};

extern "C" void on_signal(int number) {
  if (stop_asked.exchange(true)) std::signal(number, SIG_DFL);  // a third one ends the program at once
}

/// So many of the best and of the worst annotators are shown; annotators.json has all.
constexpr std::size_t kAnnotatorEnds = 10;

void print_report(const RunReport& report) {
  if (report.fit.evaluation) {
    std::cout << "\nOn held-out images:\n";
    print_evaluation(std::cout, *report.fit.evaluation, report.class_names);
  } else if (report.unjudged_images > 0 && !report.fit.interrupted) {
    std::cout << "\nAP was not measured: the " << report.unjudged_images << " held-out images have no true boxes\n";
  }
  std::ifstream learnt(report.folder / "annotators.json");
  if (learnt) {
    const AnnotatorPosteriors posteriors = read_annotator_posteriors(learnt, "annotators.json");
    std::cout << "\nWhat was learnt about the annotators"
              << (report.simulated.empty() ? ":" : " (true values in brackets):") << "\n";
    if (report.simulated.empty()) {
      print_annotators(std::cout, posteriors, kAnnotatorEnds);
    } else {
      print_simulated(std::cout, posteriors, report.simulated);
    }
  }
  if (!report.fit.interrupted) {
    std::cout << "\npictures: " << (report.folder / "learning_curve.png").string()
              << (std::filesystem::exists(report.folder / "precision_recall.png") ? ", precision_recall.png" : "")
              << ", pictures/";
  }
  std::cout << "\n"
            << (report.fit.interrupted ? "interrupted, checkpoint saved: continue with --resume " : "run folder: ")
            << report.folder.string() << "\n";
}

Json json_report(const RunReport& report) {
  Json out = {{"run", report.folder.string()},
              {"interrupted", report.fit.interrupted},
              {"stopped_early", report.fit.stopped_early},
              {"was_finished", report.fit.was_finished},
              {"best_epoch", report.fit.best_epoch},
              {"seconds", report.seconds}};
  if (report.fit.evaluation) {
    const auto& names = coco_stat_names();
    for (std::size_t i = 0; i < names.size(); ++i) out["test"][names[i]] = report.fit.evaluation->stats[i];
  }
  return out;
}

Json json_plan(const RunPlan& plan) {
  Json groups = Json::array();
  for (const auto& g : plan.groups) {
    groups.push_back({{"name", g.name},
                      {"tensors", g.tensors},
                      {"weights", g.weights},
                      {"learning_rate", g.learning_rate},
                      {"weight_decay", g.weight_decay}});
  }
  return {{"plugin", plan.plugin},
          {"data", plan.data},
          {"train_images", plan.train_images},
          {"test_images", plan.test_images},
          {"classes", plan.class_names},
          {"hooks", plan.hooks},
          {"weights", plan.weights},
          {"groups", groups}};
}

/// with_notes: nobody has told yet how the labels were read.
void print_plan(const RunPlan& plan, bool with_notes) {
  std::cout << "dry run: nothing is trained, nothing is written\n"
            << "data: " << plan.data << ", " << plan.class_names.size() << " classes; " << plan.train_images
            << " images to train on, " << plan.test_images << " to test on\n"
            << "detector: " << plan.plugin << ", " << plan.weights << " weights\n"
            << "hooks: " << (plan.hooks.empty() ? "none" : join(plan.hooks)) << "\n";
  if (with_notes) {
    for (const auto& note : plan.notes) std::cout << "note: " << note << "\n";
  }
  for (const auto& warning : plan.warnings) std::cout << "warning: " << warning << "\n";
  std::size_t width = 15;
  for (const auto& g : plan.groups) width = std::max(width, g.name.size());
  const auto row = [&](const std::string& name, const auto& tensors, const auto& weights, const auto& rate,
                       const auto& decay) {
    std::cout << std::left << std::setw(static_cast<int>(width)) << name << std::right << std::setw(9) << tensors
              << std::setw(12) << weights << std::setw(15) << rate << std::setw(14) << decay << "\n";
  };
  row("parameter group", "tensors", "weights", "learning rate", "weight decay");
  for (const auto& g : plan.groups) row(g.name, g.tensors, g.weights, g.learning_rate, g.weight_decay);
}

struct Flags {
  std::string resume, images, device;
  std::vector<std::string> data;
  bool amp = false, strict = false, quiet = false, json = false, dry_run = false;
  int processes = 1;
};

/// The run that changed last: --resume auto.
std::filesystem::path newest_run() {
  namespace fs = std::filesystem;
  fs::path newest;
  fs::file_time_type when{};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("runs", ignored)) {
    for (const char* name : {"last.safetensors", "previous.safetensors", "config.json"}) {
      const fs::path file = entry.path() / name;
      std::error_code error;  // not there, or just renamed by a run that is going on
      const auto changed = fs::last_write_time(file, error);
      if (error || (!newest.empty() && changed <= when)) continue;
      newest = entry.path();
      when = changed;
    }
  }
  if (newest.empty()) throw UserError(ExitCode::data, "--resume auto: there is no run in runs/");
  return newest;
}

int train(ConfigRequest request, const SearchRequest& search, Flags flags) {
  const Launch launch = launch_of(flags.processes);
  if (launch.rank > 0) {  // rank 0 talks for all
    flags.quiet = true;
    flags.json = false;
  }
  if (!flags.data.empty()) request.sets.push_back("data.labels=" + join(flags.data, ","));
  if (!flags.images.empty()) request.sets.push_back("data.images=" + flags.images);
  if (!flags.device.empty()) request.sets.push_back("train.device=" + flags.device);
  if (flags.amp) request.sets.emplace_back("train.amp=true");
  if (flags.strict) request.sets.emplace_back("data.strict=true");
  const bool describes = flags.dry_run && flags.resume.empty() && !flags.data.empty() && !flags.json && !flags.quiet;
  if (describes) {
    Json data = resolve_config(request);
    for (const std::string& line : complete_data(data)) std::cout << line << "\n";
    for (const std::string& line : describe_data(data)) std::cout << line << "\n";
    std::cout << std::flush;
  }
  require_engine();
  const Catalog catalog = Catalog::read(search);
  std::optional<std::filesystem::path> resume;
  CompleteConfig config;
  std::vector<std::string> notes;
  if (!flags.resume.empty() && flags.dry_run) {
    throw UserError(ExitCode::usage, "--dry-run shows a new run; leave out --resume");
  }
  if (!flags.resume.empty()) {
    if (request.file || request.imported || !request.plugin.empty() || !request.hooks.empty() ||
        !request.sets.empty()) {
      throw UserError(ExitCode::usage,
                      "--resume uses the run's own config; leave out --config, --import-config, --plugin, --hook, "
                      "--set and the options "
                      "that set a key (--data, --images, --device, --amp, --strict)");
    }
    resume = flags.resume == "auto" ? newest_run() : std::filesystem::path(flags.resume);
    ResumedConfig resumed = config_of_run(*resume, catalog, open_engine());
    config = std::move(resumed.config);
    notes = std::move(resumed.notes);
  } else {
    const std::string demo = use_demo_config(request, catalog);
    if (!demo.empty()) notes.push_back(demo);
    std::vector<ConfigLayer> layers;
    Json resolved = resolve_config(request, &layers, &notes);
    if (flags.dry_run && !flags.quiet) {
      for (const std::string& note : notes) std::cerr << "note: " << note << "\n";
    }
    const std::vector<std::string> taken = complete_data(resolved);
    if (!flags.dry_run) notes.insert(notes.end(), taken.begin(), taken.end());
    config = complete_config(with_absolute_paths(std::move(resolved)), catalog, layers);
  }
  if (flags.dry_run) {
    Progress silent(flags.json || flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
    const RunPlan plan = open_engine().plan(config.settings, catalog, silent);
    if (flags.json) {
      std::cout << json_plan(plan).dump(2) << "\n";
    } else {
      print_plan(plan, !describes);
    }
    return static_cast<int>(ExitCode::ok);
  }
  if (starts_ranks(flags.processes, launch)) {  // what is wrong with the config was said once, above
    return run_local_ranks(flags.processes, static_cast<int>(config.settings.train.threads));
  }
  std::signal(SIGUSR1, on_signal);  // Slurm's before the time limit
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGHUP, on_signal);  // a lost terminal
  Progress progress(flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
  for (const auto& note : notes) progress.line(note);
  const RunReport report =
      open_engine().train({config.settings, config.json.dump(2), resume}, catalog, progress, stop_asked);
  if (flags.json) {
    std::cout << json_report(report).dump(2) << "\n";
  } else if (!flags.quiet) {
    print_report(report);
  }
  return static_cast<int>(report.fit.interrupted ? ExitCode::interrupted : ExitCode::ok);
}

}  // namespace

void add_train(Command& program) {
  Command verb = program.add_verb("train", "Train a detector");
  const auto request = add_config_options(verb);
  const auto search = add_search_options(verb);
  const auto flags = std::make_shared<Flags>();
  verb.add_option("-d,--data", flags->data, "labels to train on, or a data.yaml (data.labels); may be repeated")
      .type_name("PATH")
      .repeated();
  verb.add_option("--images", flags->images, "folder with their images (data.images); default: beside them")
      .type_name("DIR");
  verb.add_option("--device", flags->device, "cpu, cuda or cuda:N (train.device); default: CUDA if available")
      .type_name("DEVICE");
  verb.add_flag("--amp", flags->amp, "half precision where that is safe (train.amp)");
  verb.add_flag("--strict", flags->strict, "a missing or broken image stops the run (data.strict)");
  verb.add_option("--resume", flags->resume, "resume the run in this folder; auto: the latest in runs/")
      .type_name("RUN|auto");
  add_processes_option(verb, flags->processes);
  verb.add_flag("--dry-run", flags->dry_run, "show data, detector and parameter groups; train and write nothing");
  verb.add_flag("-q,--quiet", flags->quiet, "no progress, no table");
  verb.add_flag("--json", flags->json, "print the result as JSON on standard output");
  verb.footer(
      "Examples:\n"
      "  bdc-host --plugin yolov7 --hook bdc --data crowd.json --images photos/\n"
      "  bdc-host train --plugin minimal              on the built-in shapes\n"
      "  bdc-host --plugin minimal --hook label_smoothing:share=0.05 --set train.epochs=5\n"
      "  bdc-host train --resume runs/minimal-1\n"
      "  bdc-host train --processes 2 --plugin minimal\n"
      "  torchrun --no_python --nproc_per_node 2 bdc-host train --plugin minimal");
  verb.run([=] { return train(*request, *search, *flags); }, OnInterrupt::by_itself);
}

}  // namespace bdc::host
