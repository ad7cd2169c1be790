#pragma once

#include <cstdint>
#include <string>

#include "bdc/base/state_bytes.h"

namespace bdc {

/// The first bytes of every learner's state and evidence, so that another learner's, or another version's, is refused
/// with a sentence instead of being misread.
inline constexpr std::uint32_t kLearnerState = 0x4c434442;  // "BDCL"
inline constexpr std::uint32_t kLearnerStateVersion = 6;  // 1 had no such header; 2 had one object rate for all images;
                                                          // 3 shares by true class; 4 no share of blank images;
                                                          // 5 one prior of object rates for all worklists

inline void write_state_header(StateWriter& state, const std::string& learner) {
  state(kLearnerState), state(kLearnerStateVersion);
  state(std::vector<char>(learner.begin(), learner.end()));
}

/// Throws std::invalid_argument.
inline void read_state_header(StateReader& state, const std::string& learner) {
  std::uint32_t mark = 0, version = 0;
  state(mark), state(version);
  if (mark != kLearnerState || version != kLearnerStateVersion) {
    throw std::invalid_argument("the state of " + learner +
                                " was saved by another version of bdc, which kept it in another form; finish that run "
                                "with the version that began it, or train again");
  }
  std::vector<char> name;
  state.resized(name);
  if (std::string(name.begin(), name.end()) != learner) {
    throw std::invalid_argument("expected a state of " + learner + ", found one of " +
                                std::string(name.begin(), name.end()).substr(0, 60));
  }
}

}  // namespace bdc
