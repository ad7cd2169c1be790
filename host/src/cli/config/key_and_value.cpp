#include "cli/config/key_and_value.h"

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"

namespace bdc::host {

std::pair<std::string, std::string> key_and_value(const std::string& option, const std::string& text,
                                                  const std::string& form) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UserError(ExitCode::usage, option + " " + printable(text) + ": expected " + form);
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace bdc::host
