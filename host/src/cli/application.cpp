#include "cli/application.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "bdc/base/error.h"
#include "bdc/base/short_message.h"
#include "bdc/base/user_error.h"
#include "cli/manual.h"
#include "cli/open_engine.h"
#include "cli/usage_fault.h"
#include "cli/verb.h"
#include "plugins/doctor.h"
#include "plugins/loaded_plugin.h"

namespace bdc::host {
namespace {

/// `bdc-host --plugin x --hook y` means `bdc-host train --plugin x --hook y`.
std::vector<std::string> with_default_verb(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  static const std::vector<std::string> own = {"-h", "--help", "--version", "-V", "--manual", "--completion"};
  if (!words.empty() && !words[0].empty() && words[0][0] == '-' &&
      std::find(own.begin(), own.end(), words[0]) == own.end()) {
    words.insert(words.begin(), "train");
  }
  return words;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Consensus of crowdsourced bounding boxes, and object detectors trained on it.", "bdc-host");
  app.get_formatter()->column_width(32);  // a name with its default fits, in every version of CLI11
  app.set_version_flag("-V,--version", std::string("bdc-host ") + BDC_VERSION);
  app.add_flag("--manual", "Print the manual page, for man: bdc-host --manual | man -l -");
  app.add_flag("--completion", "Print the completion of bash: source <(bdc-host --completion)");
  app.footer(
      "Without a verb, `train` runs:  bdc-host --plugin minimal --set train.epochs=5\n"
      "Exit codes: 0 ok, 1 failure, 2 usage, 3 config, 4 data, 5 plugin not found, 6 ABI mismatch,\n"
      "            7 plugin threw, 8 device or memory, 9 non-finite loss, 10 ranks lost contact or disagree,\n"
      "            130 interrupted and saved");
  app.require_subcommand(1);
  Action action;
  Command program(&app, &action);
#define BDC_ADD_VERB(name) add_##name(program);
  BDC_VERBS(BDC_ADD_VERB)
#undef BDC_ADD_VERB
  std::vector<std::string> words = with_default_verb(argc, argv);
  if (words.empty()) {
    std::cerr << app.help();
    return static_cast<int>(ExitCode::usage);
  }
  if (words.size() == 1 && (words[0] == "--manual" || words[0] == "--completion")) {
    std::cout << (words[0] == "--manual" ? manual_page(app, BDC_VERSION) : bash_completion(app));
    return 0;
  }
  const auto refuse = [](const std::string& why) {
    std::cerr << "bdc-host: " << why << "\nRun with --help to see what is accepted.\n";
    return static_cast<int>(ExitCode::usage);
  };
  if (const std::string fault = fault_in(app, words); !fault.empty()) return refuse(fault);
  std::reverse(words.begin(), words.end());  // CLI11 takes them last first
  try {
    app.parse(words);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return refuse(fault_of(e, app));
  }
  return action();
}

}  // namespace

int run_application(int argc, char** argv) {
  const auto report = [](const std::string& message, ExitCode code) {
    // What a rank has nothing to add to is empty: another one has said it.
    if (!message.empty()) std::cerr << "bdc-host: " + message + "\n" << std::flush;
    return static_cast<int>(code);
  };
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error like a full disk, not the end
  try {
    if (argc == 5 && std::string(argv[1]) == kDoctorChild)
      open_engine().examine_plugin(argv[2], argv[3], std::stoi(argv[4]));
    const int code = parse_and_run(argc, argv);
    if (!std::cout.flush()) return report("cannot write to standard output (is the disk full?)", ExitCode::failure);
    return code;
  } catch (const UserError& e) {
    return report(e.what(), e.code());
  } catch (const DataError& e) {
    return report(e.what(), ExitCode::data);
  } catch (const std::bad_alloc&) {
    return report("out of memory", ExitCode::device);
  } catch (const std::exception& e) {
    return report(short_message(e), ExitCode::failure);
  } catch (...) {
    return report("an unknown error", ExitCode::failure);
  }
}

}  // namespace bdc::host
