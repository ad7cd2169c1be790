#include "cli/command.h"

#include "cli/interrupts.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "bdc/base/options.h"
#include "bdc/base/text.h"

namespace bdc::host {
namespace {

/// Values that are not allowed are refused with what is expected. Help shows the range where the value has no name.
void limit(CLI::Option& option, const std::string& low, const std::string& high, const std::string& expected,
           const std::function<bool(const std::string&)>& allowed) {
  const std::string name = option.get_type_name();
  if (name == CLI::detail::type_name<int>() || name == CLI::detail::type_name<double>()) {
    option.type_name(low + ".." + high);
  }
  option.check([=](const std::string& text) {
    return allowed(text)
               ? std::string()
               : "expected " + expected + " from " + low + " to " + high + ", found '" + printable(text) + "'";
  });
}

}  // namespace

Option& Option::type_name(const char* name) {
  option_->type_name(name);
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

Option& Option::range(int low, int high) {
  return range(std::int64_t{low}, std::int64_t{high});
}

Option& Option::range(std::int64_t low, std::int64_t high) {
  limit(*option_, std::to_string(low), std::to_string(high), "a whole number", [=](const std::string& text) {
    const std::optional<std::int64_t> value = parse_integer(text);
    return value && *value >= low && *value <= high;
  });
  return *this;
}

Option& Option::range(double low, double high) {
  limit(*option_, option_text(low), option_text(high), "a number", [=](const std::string& text) {
    const std::optional<double> value = parse_real(text);
    return value && *value >= low && *value <= high;
  });
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
