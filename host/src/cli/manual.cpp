#include "cli/manual.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <sstream>
#include <vector>

#include "bdc/base/text.h"

namespace bdc::host {
namespace {

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// Text for man(7): nothing in it is a command, and hyphens can be copied.
std::string plain(const std::string& text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_start = c == '\n';
  }
  return out;
}

void add_options(const CLI::App& verb, std::ostream& out) {
  const auto formatter = std::dynamic_pointer_cast<CLI::Formatter>(verb.get_formatter());
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_group().empty()) continue;
    const std::string value = formatter ? formatter->make_option_opts(option) : "";
    const std::string name = option->get_positional() ? option->get_name(true) : option->get_name(false, true);
    out << ".TP\n\\fB" << plain(name) << "\\fR" << plain(value) << "\n" << plain(option->get_description()) << "\n";
  }
}

void add_text(const std::string& text, std::ostream& out) {
  if (!text.empty()) out << ".PP\n.nf\n" << plain(text) << "\n.fi\n";
}

/// path: "plugins", "plugins list".
void add_verb(const CLI::App& verb, const std::string& path, std::ostream& out) {
  out << ".SS \"" << plain(path) << "\"\n" << plain(verb.get_description()) << ".\n";
  add_options(verb, out);
  add_text(verb.get_footer(), out);
  for (const CLI::App* below : verbs_of(verb)) add_verb(*below, path + " " + below->get_name(), out);
}

/// What may stand after these verbs: the verbs below, and options.
std::string words_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* verb : verbs_of(app)) words.push_back(verb->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

/// Options that the word after them belongs to.
std::string with_values(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->get_items_expected_max() == 0) continue;
    for (const std::string& name : option->get_snames()) out += "|-" + name;
    for (const std::string& name : option->get_lnames()) out += "|--" + name;
  }
  return out.empty() ? out : out.substr(1);
}

}  // namespace

std::string manual_page(const CLI::App& program, const std::string& version) {
  std::ostringstream out;
  const std::string name = program.get_name();
  out << ".TH \"" << plain(name) << "\" 1 \"\" \"" << plain(name + " " + version) << "\" \"User Commands\"\n"
      << ".SH NAME\n"
      << plain(name) << " \\- " << plain(program.get_description()) << "\n.SH SYNOPSIS\n.B " << plain(name)
      << "\n\\fIVERB\\fR [\\fIOPTIONS\\fR]\n.SH OPTIONS\n";
  add_options(program, out);
  add_text(program.get_footer(), out);
  out << ".SH VERBS\n";
  for (const CLI::App* verb : verbs_of(program)) add_verb(*verb, verb->get_name(), out);
  return out.str();
}

std::string bash_completion(const CLI::App& program) {
  std::ostringstream out;
  out << "# Completion of " << program.get_name() << " for bash: source <(" << program.get_name() << " --completion)\n"
      << "_bdc_host() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} path='' word words='' "
         "valued=''\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \"$path/$word\" in\n";
  const std::function<void(const CLI::App&, const std::string&)> add_paths = [&](const CLI::App& app,
                                                                                 const std::string& path) {
    for (const CLI::App* verb : verbs_of(app)) {
      const std::string own = path + "/" + verb->get_name();
      out << "      " << own << ") path=" << own << " ;;\n";
      add_paths(*verb, own);
    }
  };
  add_paths(program, "");
  out << "    esac\n"
         "  done\n"
         "  case \"$path\" in\n";
  const std::function<void(const CLI::App&, const std::string&)> add_words = [&](const CLI::App& app,
                                                                                 const std::string& path) {
    out << "    '" << path << "') words='" << words_of(app) << "' valued='|" << with_values(app) << "|' ;;\n";
    for (const CLI::App* verb : verbs_of(app)) add_words(*verb, path + "/" + verb->get_name());
  };
  add_words(program, "");
  out << "  esac\n"
         "  COMPREPLY=()\n"
         "  [[ $previous == -* && $valued == *\"|$previous|\"* ]] && return\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _bdc_host "
      << program.get_name() << "\n";
  return out.str();
}

}  // namespace bdc::host
