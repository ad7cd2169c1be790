#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>

#include "app/user_error.h"
#include "app/verb.h"
#include "bdc/core/error.h"
#include "console/progress.h"
#include "experiment/run_cell.h"
#include "experiment/table.h"
#include "text/table.h"
#include "verbs/shared_options.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

std::atomic<bool> stop_asked{false};

extern "C" void on_stop(int number) {
  if (stop_asked.exchange(true)) std::signal(number, SIG_DFL);
}

struct Flags {
  std::string grid, folder;
  int threads = 0;
  bool list = false, quiet = false;
};

void write_tables(const Grid& grid, const std::vector<Json>& results, const fs::path& folder) {
  const auto rows = experiment_rows(grid, results);
  write_file_atomically(folder / "table.md", markdown_table(grid.name, rows));
  write_file_atomically(folder / "table.csv", csv_table(rows));
  write_file_atomically(folder / "table.json", json_table(grid.name, rows).dump(1) + "\n");
}

int experiment(const Flags& flags, const SearchRequest& search) {
  const Grid grid = read_grid(flags.grid);
  CellSettings settings;
  settings.folder =
      flags.folder.empty() ? fs::path("experiments") / fs::path(flags.grid).stem() : fs::path(flags.folder);
  settings.times = grid.times;
  settings.threads = flags.threads;
  const auto hand_on = [&](const char* option, const std::string& value) {
    settings.program_options.insert(settings.program_options.end(), {option, value});
  };
  for (const auto& path : search.folders) hand_on("--plugin-path", path);
  if (!search.registry.empty()) hand_on("--registry", search.registry);
  settings.folder = fs::absolute(settings.folder);
  std::vector<Json> results(grid.cells.size());
  std::size_t done = 0;
  for (std::size_t n = 0; n < grid.cells.size(); ++n) {
    if (auto result = finished_cell(grid.cells[n], settings)) results[n] = std::move(*result), ++done;
    if (flags.list) std::cout << (results[n].is_null() ? "to do  " : "done   ") << grid.cells[n].id << "\n";
  }
  if (flags.list) return 0;
  Progress progress(flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
  progress.line(grid.name + ": " + std::to_string(grid.cells.size()) + " cells, " + std::to_string(done) +
                " of them done before; " + settings.folder.string());
  std::signal(SIGINT, on_stop);
  std::signal(SIGTERM, on_stop);
  fs::create_directories(settings.folder);
  write_tables(grid, results, settings.folder);
  std::vector<std::string> failures;
  for (std::size_t n = 0; n < grid.cells.size() && !stop_asked; ++n) {
    if (!results[n].is_null()) continue;
    const double started = now_seconds();
    try {
      if (auto result = run_cell(grid.cells[n], settings, stop_asked)) results[n] = std::move(*result);
    } catch (const UserError& e) {
      if (e.code() != ExitCode::failure) throw;  // what is wrong with the file is wrong with every cell
      failures.emplace_back(e.what());
      progress.line(e.what());
      continue;
    }
    if (results[n].is_null()) break;
    write_tables(grid, results, settings.folder);
    progress.line(std::to_string(++done) + "/" + std::to_string(grid.cells.size()) + "  " + grid.cells[n].id + "  " +
                  fixed(now_seconds() - started, 1) + " s");
  }
  progress.finish();
  if (stop_asked) {
    std::cerr << "interrupted; the same command goes on from here\n";
    return static_cast<int>(ExitCode::interrupted);
  }
  if (!flags.quiet) {
    std::cout << markdown_table(grid.name, experiment_rows(grid, results))
              << "\ntables: " << (settings.folder / "table.md").string() << ", table.csv, table.json\n";
  }
  if (!failures.empty()) {
    throw UserError(ExitCode::failure, std::to_string(failures.size()) + " of " + std::to_string(grid.cells.size()) +
                                           " cells failed; the same command tries them again");
  }
  return 0;
}

}  // namespace

void add_experiment(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("experiment", "Compare methods over data, crowds, detectors and seeds");
  const auto flags = std::make_shared<Flags>();
  verb->add_option("grid", flags->grid, "the experiment (JSON, docs/experiments.md; ready ones: configs/experiments)")
      ->required()
      ->type_name("FILE");
  verb->add_option("-o,--output", flags->folder, "folder for results [experiments/NAME]")->type_name("DIR");
  verb->add_flag("--list", flags->list, "list the cells and which are done; run nothing");
  verb->add_option("--threads", flags->threads, "of aggregation; 0: all cores")->check(CLI::Range(0, 1024));
  verb->add_flag("-q,--quiet", flags->quiet, "no progress, no table");
  const auto search = add_search_options(*verb);
  verb->footer(
      "Interrupt it at any moment: the same command goes on where it stopped and gives the same table.\n"
      "Example:\n"
      "  bdc-host experiment configs/experiments/methods_labels.json");
  verb->callback([=, &action] { action = [=] { return experiment(*flags, *search); }; });
}

}  // namespace bdc::host
