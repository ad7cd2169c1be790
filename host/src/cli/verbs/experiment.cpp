#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>

#include "bdc/base/atomic_file.h"
#include "bdc/base/error.h"
#include "bdc/base/now_seconds.h"
#include "bdc/base/table.h"
#include "bdc/base/user_error.h"
#include "cli/open_engine.h"
#include "cli/verb.h"
#include "cli/verbs/shared_options.h"
#include "files/run_lock.h"
#include "show/progress.h"
#include "studio/experiment/check_grid.h"
#include "studio/experiment/run_cell.h"
#include "studio/experiment/table.h"

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

/// Kept to one process; what a killed one had begun to write is removed.
RunLock take_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error)) {
    throw UserError(ExitCode::failure, folder.string() + ": cannot be used as the results folder" +
                                           (error ? ": " + error.message() : ": it is a file"));
  }
  return RunLock(folder, {"experiment", "wait for it to finish, or stop it; the same command continues from there"});
}

void remove_leftovers(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder / "files", ignored)) {
    if (entry.path().filename().string()[0] == '.') found.push_back(entry.path());
  }
  for (const auto& path : found) fs::remove_all(path, ignored);
}

CellSettings cell_settings(const Flags& flags, const SearchRequest& search, const Grid& grid) {
  CellSettings settings;
  settings.folder = fs::absolute(flags.folder.empty() ? fs::path("experiments") / fs::path(flags.grid).stem()
                                                      : fs::path(flags.folder));
  settings.engine = open_engine;
  settings.times = grid.times;
  settings.threads = flags.threads;
  const auto hand_on = [&](const char* option, const std::string& value) {
    settings.program_options.insert(settings.program_options.end(), {option, value});
  };
  for (const auto& path : search.folders) hand_on("--plugin-path", path);
  if (!search.registry.empty()) hand_on("--registry", search.registry);
  return settings;
}

int list_cells(const Grid& grid, const CellSettings& settings) {
  for (const Cell& cell : grid.cells) {
    std::cout << (finished_cell(cell, settings) ? "done   " : "to do  ") << cell.id << "\n";
  }
  return 0;
}

/// Throws where cells failed, with their exit code if it is the same for all.
void tell_failures(const std::vector<CellFailure>& failures, std::size_t cells) {
  if (failures.empty()) return;
  ExitCode code = failures[0].code();
  for (const CellFailure& f : failures) code = f.code() == code ? code : ExitCode::failure;
  throw UserError(code, std::to_string(failures.size()) + " of " + std::to_string(cells) +
                            " cells failed, for the reasons above; the same command tries them again");
}

std::string resolved_text(const fs::path& file) {
  ConfigRequest request;
  request.file = file;
  return resolve_config(request).dump();
}

int experiment(const Flags& flags, const SearchRequest& search) {
  const Grid grid = read_grid(flags.grid, resolved_text);
  CellSettings settings = cell_settings(flags, search, grid);
  if (flags.list) return list_cells(grid, settings);
  const std::string all = std::to_string(grid.cells.size());
  const RunLock lock = take_folder(settings.folder);
  remove_leftovers(settings.folder);
  std::vector<Json> results(grid.cells.size());
  std::size_t done = 0;
  for (std::size_t n = 0; n < grid.cells.size(); ++n) {
    if (auto result = finished_cell(grid.cells[n], settings)) results[n] = std::move(*result), ++done;
  }
  Progress progress(flags.quiet ? Progress::Style::quiet : Progress::Style::automatic);
  std::signal(SIGINT, on_stop);
  std::signal(SIGTERM, on_stop);
  progress.live("checking the grid");
  if (done < grid.cells.size()) check_grid(grid, settings, stop_asked);
  progress.line(grid.name + ": " + all + " cells, " + std::to_string(done) + " of them done before; " +
                settings.folder.string());
  write_tables(grid, results, settings.folder);
  std::vector<CellFailure> failures;
  for (std::size_t n = 0; n < grid.cells.size() && !stop_asked; ++n) {
    if (!results[n].is_null()) continue;
    const Cell& cell = grid.cells[n];
    const double started = now_seconds();
    settings.live = [&](const std::string& text) {
      progress.live(std::to_string(n + 1) + "/" + all + "  " + cell.id + "  " + clock_text(now_seconds() - started) +
                    "  " + text);
    };
    settings.live("");
    try {
      if (auto result = run_cell(cell, settings, stop_asked)) results[n] = std::move(*result);
    } catch (const CellFailure& e) {
      failures.push_back(e);
      progress.line(e.what());
      continue;
    }
    if (results[n].is_null()) break;
    write_tables(grid, results, settings.folder);
    progress.line(std::to_string(++done) + "/" + all + "  " + cell.id + "  " + fixed(now_seconds() - started, 1) +
                  " s");
  }
  progress.finish();
  if (stop_asked) {
    std::cerr << "interrupted; the same command continues from here\n";
    return static_cast<int>(ExitCode::interrupted);
  }
  if (!flags.quiet) {
    std::cout << markdown_table(grid.name, experiment_rows(grid, results))
              << "\ntables: " << (settings.folder / "table.md").string() << ", table.csv, table.json\n";
  }
  tell_failures(failures, grid.cells.size());
  return 0;
}

}  // namespace

void add_experiment(Command& program) {
  Command verb = program.add_verb("experiment", "Compare methods over data, crowds, detectors and seeds");
  const auto flags = std::make_shared<Flags>();
  verb.add_option("grid", flags->grid, "the experiment (JSON, docs/experiments.md; ready ones: configs/experiments)")
      .required()
      .type_name("FILE");
  verb.add_option("-o,--output", flags->folder, "folder for results [experiments/<grid file's name>]").type_name("DIR");
  verb.add_flag("--list", flags->list, "list the cells and which are done; run nothing");
  verb.add_option("--threads", flags->threads, "threads for aggregation; 0: all cores").range(0, 1024);
  verb.add_flag("-q,--quiet", flags->quiet, "no progress, no table");
  const auto search = add_search_options(verb);
  verb.footer(
      "Interrupt it at any time: the same command continues where it stopped and gives the same table.\n"
      "Example:\n"
      "  bdc-host experiment configs/experiments/methods_labels.json");
  verb.run([=] { return experiment(*flags, *search); }, OnInterrupt::by_itself);
}

}  // namespace bdc::host
