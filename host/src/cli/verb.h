#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace bdc::host {

/// What a verb does once the command line is parsed: returns the exit code or throws.
using Action = std::function<int()>;

/// Each adds one verb to the program; when the user calls it, its action is put into `action`. One file per verb.
void add_train(CLI::App& app, Action& action);
void add_val(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_predict(CLI::App& app, Action& action);
void add_aggregate(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_annotators(CLI::App& app, Action& action);
void add_synth(CLI::App& app, Action& action);
void add_experiment(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_plugins(CLI::App& app, Action& action);
void add_config(CLI::App& app, Action& action);
void add_version(CLI::App& app, Action& action);

}  // namespace bdc::host
