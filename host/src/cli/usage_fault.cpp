#include "cli/usage_fault.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bdc/base/nearest.h"
#include "bdc/base/text.h"

namespace bdc::host {
namespace {

/// "plugins list"; the program's own name where no verb is named.
std::string full_name(const CLI::App& verb) {
  const CLI::App* above = verb.get_parent();
  const bool below_a_verb = above != nullptr && above->get_parent() != nullptr;
  return (below_a_verb ? full_name(*above) + " " : "") + verb.get_name();
}

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

/// Whether the parser takes the word for an option or several short ones, not for a value.
bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word != "--" && !(word[1] >= '0' && word[1] <= '9');
}

/// The option that a word begins with: "--name", "--name=value", "-n", "-nvalue"; null: none of this verb's.
const CLI::Option* option_of(const CLI::App& verb, const std::string& word) {
  if (!looks_like_option(word)) return nullptr;
  return verb.get_option_no_throw(word[1] == '-' ? word.substr(0, word.find('=')) : word.substr(0, 2));
}

std::string no_such_option(const CLI::App& verb, const std::string& word) {
  const bool one_letter = word.size() <= 2;  // too little to guess from
  return full_name(verb) + " has no option '" + printable(word) + "'" +
         (one_letter ? "" : did_you_mean(word, names_of_options(verb)));
}

/// Reads one command line, verb by verb.
class Reading {
 public:
  Reading(const CLI::App& program, const std::vector<std::string>& words) : verb_(&program), words_(words) {}

  std::string fault() {
    while (at_ < words_.size() && words_[at_] != "--") {
      const std::string& word = words_[at_++];
      std::string wrong = looks_like_option(word) ? of_option(word) : of_argument(word);
      if (!wrong.empty() || shows_help_) return wrong;
    }
    return "";
  }

 private:
  std::string of_argument(const std::string& word) {
    const auto verbs = verb_->get_subcommands([&](const CLI::App* verb) { return verb->get_name() == word; });
    if (!verbs.empty()) {
      verb_ = verbs.front();
      return "";
    }
    const std::vector<std::string> known = names_of_verbs(*verb_);
    const auto options = verb_->get_options();
    const bool takes_arguments =
        std::any_of(options.begin(), options.end(), [](const CLI::Option* o) { return o->get_positional(); });
    if (known.empty() || takes_arguments) return "";
    return full_name(*verb_) + " has no verb '" + printable(word) + "'" + did_you_mean(word, known);
  }

  std::string of_option(const std::string& word) { return word[1] == '-' ? of_long(word) : of_letters(word); }

  std::string of_long(const std::string& word) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const CLI::Option* option = option_of(*verb_, word);
    if (option == nullptr) return no_such_option(*verb_, name);
    if (takes_value(*option)) return of_value(name, equals == std::string::npos, equals + 1 == word.size());
    if (equals != std::string::npos) return name + " takes no value";
    shows_help_ = option == verb_->get_help_ptr();
    return "";
  }

  /// "-q", "-qm" and then a value, "-ovalue".
  std::string of_letters(const std::string& word) {
    for (std::size_t n = 1; n < word.size(); ++n) {
      const std::string name = std::string("-") + word[n];
      const CLI::Option* option = verb_->get_option_no_throw(name);
      if (option == nullptr && n > 1) return "-" + word.substr(n - 1, 1) + " takes no value";
      if (option == nullptr) return no_such_option(*verb_, word.substr(0, word.find('=')));
      if (takes_value(*option)) return of_value(name, n + 1 == word.size(), false);
      shows_help_ = shows_help_ || option == verb_->get_help_ptr();
    }
    return "";
  }

  /// The value of an option: the next word, unless it is one of the verb's options, or what stands behind the name.
  std::string of_value(const std::string& name, bool is_next, bool is_empty) {
    const bool missing = is_next && (at_ == words_.size() || option_of(*verb_, words_[at_]) != nullptr);
    if (missing || is_empty) return name + ": expected a value";
    at_ += is_next ? 1 : 0;
    return "";
  }

  const CLI::App* verb_;
  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  bool shows_help_ = false;
};

/// "list, info or doctor".
std::string one_of(const std::vector<std::string>& names) {
  if (names.size() < 2) return join(names);
  return join({names.begin(), names.end() - 1}) + " or " + names.back();
}

}  // namespace

std::string fault_in(const CLI::App& program, const std::vector<std::string>& words) {
  return Reading(program, words).fault();
}

std::string fault_of(const CLI::ParseError& error, const CLI::App& program) {
  const CLI::App* verb = &program;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  const std::string said = error.what(), kind = error.get_name();
  const std::string option = said.substr(0, said.find(": "));
  const auto says = [&](const char* part) { return said.find(part) != std::string::npos; };
  const bool has_extras = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (const auto left = program.remaining(true); has_extras && !left.empty()) {
    return full_name(*verb) + ": unexpected argument '" + printable(left.front()) + "'";
  }
  if (kind == "ArgumentMismatch" && says("At Most")) return option + ": given more than once";
  if (kind == "ArgumentMismatch") return option + ": expected a value";
  if (kind == "ConversionError" && says(" = ")) {  // Could not convert: --seed = x
    const std::string what = said.substr(std::min(said.find(": "), said.size() - 2) + 2);
    const auto at = what.find(" = ");
    return what.substr(0, at) + ": expected a number, found " + in_quotes(what.substr(at + 3));
  }
  if (kind == "RequiredError" && says("subcommand")) {
    return full_name(*verb) + ": expected " + one_of(names_of_verbs(*verb));
  }
  if (kind == "RequiredError") {
    return full_name(*verb) + ": no " + said.substr(0, said.rfind(" is required")) + " given";
  }
  return said;
}

}  // namespace bdc::host
