#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace bdc::host {

/// What a verb does once the command line is parsed: returns the exit code or throws.
using Action = std::function<int()>;

/// What SIGINT, SIGTERM and SIGHUP do to a verb.
enum class OnInterrupt {
  ends_cleanly,  ///< the process ends with exit code 130 and leaves no half-written file
  by_itself      ///< the verb sees to it
};

/// "" for a value that is right, else what is wrong with it.
using ValueCheck = std::function<std::string(const std::string& text)>;

/// One option or argument of a verb. Each function returns the same option, so that calls can be chained.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  /// What help calls the value: FILE, N. The name of a file or folder must not be empty.
  Option& type_name(const char* name);
  Option& required();
  Option& repeated();      ///< may be given several times, with one value each
  Option& every_word();    ///< an argument that takes all words from here on, at least one
  Option& show_default();  ///< in help
  Option& check(ValueCheck check);
  Option& one_of(std::vector<std::string> choices);
  Option& range(int low, int high);
  Option& range(std::int64_t low, std::int64_t high);
  Option& range(double low, double high);
  [[nodiscard]] bool given() const;

 private:
  CLI::Option* option_;
};

/// One verb of the program, or the program itself. A handle: copies mean the same verb. The library that parses (CLI11)
/// stands behind it in command.cpp, application.cpp and usage_fault.cpp alone, because its header costs seconds in
/// every file.
class Command {
 public:
  /// `action` receives what the verb that the user called is to do.
  Command(CLI::App* app, Action* action) : app_(app), action_(action) {}

  /// Adds a verb below this one.
  [[nodiscard]] Command add_verb(const char* name, const char* help);
  /// Calling this verb without one of the verbs below it is an error.
  void require_verb();

  /// "-o,--output" is an option, "labels" an argument. Value: std::string, int, std::int64_t, std::uint64_t, double, or
  /// a vector of strings, ints or doubles; it must live as long as the action.
  template <typename Value>
  Option add_option(const char* names, Value& value, const std::string& help);
  /// The same with a function that takes the value.
  Option add_option_handler(const char* names, const std::function<void(const std::string&)>& handler,
                            const std::string& help);
  void add_flag(const char* names, bool& value, const std::string& help);
  void footer(const std::string& text);  ///< stands below the options in help

  /// What the verb does when it is called itself and not a verb below it.
  void run(Action action, OnInterrupt on_interrupt = OnInterrupt::ends_cleanly);

  [[nodiscard]] bool given(const char* option) const;

 private:
  CLI::App* app_;
  Action* action_;
};

}  // namespace bdc::host
