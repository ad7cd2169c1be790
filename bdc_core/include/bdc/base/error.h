#pragma once

#include <stdexcept>

namespace bdc {

/// Data handed over by a user is wrong: the message says which file, where in it, what was expected and what was found.
/// bdc-host turns it into exit code 4.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace bdc
