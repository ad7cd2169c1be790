#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

/// A file of tests/golden/crowd (its README explains every field).
inline nlohmann::json golden_crowd(const std::string& name) {
  const std::string path = std::string(BDC_TEST_DATA) + "/golden/crowd/" + name;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  return nlohmann::json::parse(file);
}

/// |actual - expected| <= tolerance * max(1, |expected|): relative, or absolute below 1.
inline ::testing::AssertionResult close(double actual, double expected, double tolerance) {
  const double limit = tolerance * std::max(1.0, std::abs(expected));
  if (std::abs(actual - expected) <= limit) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << actual << " is not " << expected << ": they differ by "
                                       << std::abs(actual - expected) << ", allowed is " << limit;
}
