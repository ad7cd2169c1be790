#pragma once

#include <cstdint>
#include <string>

#include "bdc/base/state_bytes.h"

namespace bdc {

/// The first bytes of every learner's state and evidence, so that another learner's, or another version's, is refused
/// with a sentence instead of being misread.
inline constexpr std::uint32_t kLearnerState = 0x4c434442;  // "BDCL"
/// The form of a learner's state. It rises with every change, for that learner alone.
using StateForm = std::uint32_t;

inline void write_state_header(StateWriter& state, const std::string& learner, StateForm form) {
  state(kLearnerState), state(form);
  state(std::vector<char>(learner.begin(), learner.end()));
}

/// Throws std::invalid_argument.
inline void read_state_header(StateReader& state, const std::string& learner, StateForm form) {
  const auto other_version = [&] {
    return std::invalid_argument("the state of " + learner +
                                 " was saved by another version of bdc, which kept it in another form; finish that run "
                                 "with the version that began it, or train again");
  };
  std::uint32_t mark = 0;
  StateForm found = 0;
  std::vector<char> name;
  state(mark), state(found);
  if (mark != kLearnerState) throw other_version();  // the first version had no header
  state.resized(name);
  if (std::string(name.begin(), name.end()) != learner) {
    throw std::invalid_argument("expected a state of " + learner + ", found one of " +
                                std::string(name.begin(), name.end()).substr(0, 60));
  }
  if (found != form) throw other_version();
}

}  // namespace bdc
