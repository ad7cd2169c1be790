#include "cli/command.h"

#include "cli/interrupts.h"

#include <CLI/CLI.hpp>
#include <map>

#include "bdc/base/options.h"
#include "bdc/base/text.h"

namespace bdc::host {
namespace {

/// Values that are not allowed are refused as those of any other option. Help shows the range where the value has no
/// name.
void limit(CLI::Option& option, const OptionSpec& spec) {
  const std::string name = option.get_type_name();
  if (name == CLI::detail::type_name<int>() || name == CLI::detail::type_name<double>()) {
    option.type_name(option_text(*spec.min) + ".." + option_text(*spec.max));
  }
  const bool is_whole = std::holds_alternative<std::int64_t>(spec.default_value);
  option.check([=](const std::string& text) {
    if (is_whole && parse_real(text) && !parse_integer(text)) return why_refused(spec, OptionValue(text));  // 1e2
    return why_text_refused(spec, text);
  });
}

}  // namespace

Option& Option::type_name(const char* name) {
  option_->type_name(name);
  static const std::map<std::string, std::string> places = {{"FILE", "a file"},
                                                            {"DIR", "a folder"},
                                                            {"PATH", "a file or folder"},
                                                            {"RUN", "a run folder"},
                                                            {"FROM... TO", "a file or folder"}};
  if (const auto place = places.find(name); place != places.end()) {
    option_->check([kind = place->second](const std::string& text) {
      return text.empty() ? "expected the name of " + kind + ", found none" : std::string();
    });
  }
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::repeated() {
  option_->take_all()->allow_extra_args(false);
  return *this;
}

Option& Option::every_word() {
  option_->expected(1, -1);
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::check(ValueCheck check) {
  option_->check(std::move(check));
  return *this;
}

Option& Option::one_of(std::vector<std::string> choices) {
  option_->check([spec = string_option("", "", "", std::move(choices))](const std::string& text) {
    return why_text_refused(spec, text);
  });
  return *this;
}

Option& Option::range(int low, int high) {
  return range(std::int64_t{low}, std::int64_t{high});
}

Option& Option::range(std::int64_t low, std::int64_t high) {
  limit(*option_, int_option("", low, "", static_cast<double>(low), static_cast<double>(high)));
  return *this;
}

Option& Option::range(double low, double high) {
  limit(*option_, number_option("", low, "", low, high));
  return *this;
}

bool Option::given() const {
  return option_->count() > 0;
}

Command Command::add_verb(const char* name, const char* help) {
  return {app_->add_subcommand(name, help), action_};
}

void Command::require_verb() {
  app_->require_subcommand(1);
}

template <typename Value>
Option Command::add_option(const char* names, Value& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

template Option Command::add_option(const char*, std::string&, const std::string&);
template Option Command::add_option(const char*, int&, const std::string&);
template Option Command::add_option(const char*, std::int64_t&, const std::string&);
template Option Command::add_option(const char*, std::uint64_t&, const std::string&);
template Option Command::add_option(const char*, double&, const std::string&);
template Option Command::add_option(const char*, std::vector<std::string>&, const std::string&);
template Option Command::add_option(const char*, std::vector<int>&, const std::string&);
template Option Command::add_option(const char*, std::vector<double>&, const std::string&);

Option Command::add_option_handler(const char* names, const std::function<void(const std::string&)>& handler,
                                   const std::string& help) {
  return Option(app_->add_option_function<std::string>(names, handler, help));
}

void Command::add_flag(const char* names, bool& value, const std::string& help) {
  app_->add_flag(names, value, help);
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

void Command::run(Action action, OnInterrupt on_interrupt) {
  app_->callback([app = app_, all = action_, action = std::move(action), on_interrupt] {
    if (!app->get_subcommands().empty()) return;
    *all = [action, on_interrupt] {
      if (on_interrupt == OnInterrupt::ends_cleanly) end_cleanly_on_interrupt();
      return action();
    };
  });
}

bool Command::given(const char* option) const {
  return app_->count(option) > 0;
}

}  // namespace bdc::host
