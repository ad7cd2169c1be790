#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace bdc::host {

/// What is wrong with a command line that can be told word by word, as a sentence; "" for nothing: a verb or option
/// that is not there, an option without its value, a flag with one. `words` come after the program's name. The parser
/// (CLI11) takes "-m -o" for the value "-o", drops the value of a flag, and makes a file of what follows a flag's
/// letter.
[[nodiscard]] std::string fault_in(const CLI::App& program, const std::vector<std::string>& words);

/// What the parser says against words in which fault_in finds nothing: too many arguments, too few, a value that is
/// refused.
[[nodiscard]] std::string fault_of(const CLI::ParseError& error, const CLI::App& program);

}  // namespace bdc::host
