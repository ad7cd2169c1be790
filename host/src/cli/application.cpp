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
#include "bdc/base/nearest.h"
#include "bdc/base/short_message.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "cli/manual.h"
#include "cli/open_engine.h"
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

/// "plugins has no verb 'lst'; did you mean 'list'?"; "" where there are no verbs.
std::string no_such_verb(const CLI::App& app, const std::string& where, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(verb->get_name());
  }
  return known.empty() ? "" : where + " has no verb '" + printable(word) + "'" + did_you_mean(word, known);
}

/// For the first word that was not understood: the nearest verb or option where it stands, as a sentence; or "".
std::string suggestion(CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return "";
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  const std::string where = verb == &app ? "bdc-host" : verb->get_name();
  const std::string word = words.front().substr(0, words.front().find('='));
  if (!word.empty() && word[0] == '-') {
    std::vector<std::string> known;
    for (const CLI::Option* option : verb->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
      for (const std::string& name : option->get_snames()) known.push_back("-" + name);
    }
    return where + " has no option '" + printable(word) + "'" + did_you_mean(word, known);
  }
  return no_such_verb(*verb, where, word);
}

/// What CLI11 says of a command line, in our words.
std::string own_words(const CLI::ParseError& e) {
  const std::string said = e.what();
  const std::string option = said.substr(0, said.find(": "));
  const auto says = [&](const char* part) { return said.find(part) != std::string::npos; };
  if (e.get_name() == "ArgumentMismatch" && says("At Most")) return option + ": given more than once";
  if (e.get_name() == "ArgumentMismatch") return option + ": expected a value, found none";
  if (e.get_name() == "ConversionError" && says(" = ")) {  // Could not convert: --seed = x
    const std::string what = said.substr(std::min(said.find(": "), said.size() - 2) + 2);
    const auto at = what.find(" = ");
    return what.substr(0, at) + ": expected a number, found '" + printable(what.substr(at + 3)) + "'";
  }
  if (e.get_name() == "RequiredError" && says("subcommand")) return "expected a verb, found none";
  if (e.get_name() == "RequiredError") return said.substr(0, said.rfind(" is required")) + ": is missing";
  return said;
}

/// Whether the first word is meant to be a verb and is none: then --help after it has nothing to help with.
bool is_unknown_verb(CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0].empty() || words[0][0] == '-') return false;
  const auto verbs = app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == words[0]; });
  return verbs.empty();
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Consensus of crowdsourced bounding boxes, and object detectors trained on it.", "bdc-host");
  app.set_version_flag("-V,--version", std::string("bdc-host ") + BDC_VERSION);
  app.add_flag("--manual", "Print the manual page, for man: bdc-host --manual | man -l -");
  app.add_flag("--completion", "Print the completion of bash: source <(bdc-host --completion)");
  app.footer(
      "Without a verb, `train` runs:  bdc-host --plugin minimal --set train.epochs=5\n"
      "Exit codes: 0 ok, 1 failure, 2 usage, 3 config, 4 data, 5 plugin not found, 6 ABI mismatch,\n"
      "            7 plugin threw, 8 device or memory, 9 non-finite loss, 10 ranks apart, 130 interrupted and saved");
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
  if (is_unknown_verb(app, words)) return refuse(no_such_verb(app, "bdc-host", words[0]));
  std::reverse(words.begin(), words.end());  // CLI11 takes them last first
  try {
    app.parse(words);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    const std::string better = suggestion(app);
    return refuse(better.empty() ? own_words(e) : better);
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
