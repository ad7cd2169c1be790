#include <atomic>
#include <csignal>
#include <iostream>

#include "app/user_error.h"
#include "app/verb.h"
#include "text/table.h"
#include "train/run.h"
#include "verbs/shared_options.h"

namespace bdc::host {
namespace {

std::atomic<bool> stop_asked{false};

extern "C" void on_signal(int number) {
  if (stop_asked.exchange(true)) std::signal(number, SIG_DFL);  // a third one ends the program at once
}

void print_report(const RunReport& report) {
  if (report.fit.evaluation) {
    const auto& evaluation = *report.fit.evaluation;
    Table table({"class", "AP50", "AP75", "AP"});
    for (std::size_t c = 1; c < 4; ++c) table.align_right(c);
    const auto cell = [](double value) { return value < 0 ? std::string("-") : fixed(value, 3); };
    for (std::size_t c = 0; c < evaluation.classes.size(); ++c) {
      const auto& one = evaluation.classes[c];
      table.add({report.class_names[c], cell(one.ap50), cell(one.ap75), cell(one.ap)});
    }
    table.add({"all", cell(evaluation.stats[1]), cell(evaluation.stats[2]), cell(evaluation.stats[0])});
    std::cout << "\nOn held-out images:\n";
    table.print(std::cout);
  }
  std::cout << "\n"
            << (report.fit.interrupted ? "interrupted, checkpoint saved: go on with --resume " : "run folder: ")
            << report.folder.string() << "\n";
}

Json json_report(const RunReport& report) {
  Json out = {{"run", report.folder.string()}, {"interrupted", report.fit.interrupted}, {"seconds", report.seconds}};
  if (report.fit.evaluation) {
    const auto& names = coco_stat_names();
    for (std::size_t i = 0; i < names.size(); ++i) out["test"][names[i]] = report.fit.evaluation->stats[i];
  }
  return out;
}

struct Flags {
  std::string resume;
  bool quiet = false, json = false;
};

int train(const ConfigRequest& request, const SearchRequest& search, const Flags& flags) {
  const Catalog catalog = Catalog::read(search);
  std::optional<std::filesystem::path> resume;
  Json config;
  if (!flags.resume.empty()) {
    if (request.file || !request.plugin.empty() || !request.hooks.empty() || !request.sets.empty()) {
      throw UserError(ExitCode::usage,
                      "--resume goes on with the run's own config; leave out --config, --plugin, --hook and --set");
    }
    resume = flags.resume;
    config = config_of_run(*resume);
  } else {
    config = complete_config(resolve_config(request), catalog);
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  Progress progress(flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
  const RunReport report = run_training(config, catalog, resume, progress, stop_asked);
  if (flags.json) {
    std::cout << json_report(report).dump(2) << "\n";
  } else if (!flags.quiet) {
    print_report(report);
  }
  return static_cast<int>(report.fit.interrupted ? ExitCode::interrupted : ExitCode::ok);
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("train", "Train a detector");
  const auto request = add_config_options(*verb);
  const auto search = add_search_options(*verb);
  const auto flags = std::make_shared<Flags>();
  verb->add_option("--resume", flags->resume, "go on with the run in this folder")->type_name("RUN");
  verb->add_flag("-q,--quiet", flags->quiet, "no progress, no table");
  verb->add_flag("--json", flags->json, "print the result as JSON on standard output");
  verb->footer(
      "Images: the built-in shapes, rendered while training (data.shapes.* in the config).\n"
      "Examples:\n"
      "  bdc-host train --plugin minimal\n"
      "  bdc-host --plugin minimal --hook label_smoothing:share=0.05 --set train.epochs=5\n"
      "  bdc-host train --resume runs/minimal-1");
  verb->callback([=, &action] { action = [=] { return train(*request, *search, *flags); }; });
}

}  // namespace bdc::host
