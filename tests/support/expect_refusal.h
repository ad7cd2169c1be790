#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/run_program.h"

namespace bdc::test {

/// Expects that a program ended by itself with this exit code, said all of this on standard error and nothing on
/// standard output.
inline void expect_refusal(const Outcome& outcome, int exit_code, const std::vector<std::string>& says) {
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  for (const auto& text : says) {
    EXPECT_NE(outcome.err.find(text), std::string::npos) << "missing: " << text << "\nin: " << outcome.err;
  }
  EXPECT_EQ(outcome.out, "");
}

}  // namespace bdc::test
