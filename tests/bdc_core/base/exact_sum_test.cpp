#include "bdc/base/exact_sum.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace {

using bdc::ExactSum;

double sum_of(const std::vector<double>& values) {
  ExactSum sum;
  for (const double x : values) sum.add(x);
  return sum.value();
}

TEST(ExactSum, WholeNumbersAndHalvesAreExact) {
  EXPECT_EQ(sum_of({}), 0);
  EXPECT_EQ(sum_of({1, 2, -4.5}), -1.5);
  EXPECT_EQ(sum_of({1e12, 0.25, -1e12}), 0.25) << "a double would have kept this, too";
  EXPECT_EQ(sum_of({1e13, 1e-6, -1e13}), 1e-6 - (1e-6 - sum_of({1e-6}))) << "a double would not";
  EXPECT_NEAR(sum_of({1e13, 1e-6, -1e13}), 1e-6, 2e-19);
}

class ExactSumLaws : public ::testing::TestWithParam<unsigned> {};

TEST_P(ExactSumLaws, NeitherOrderNorGroupingShowsInTheBits) {
  std::mt19937 random(GetParam());
  std::vector<double> values;
  for (int n = 0; n < 1000; ++n) {
    const double size = std::ldexp(1.0, static_cast<int>(random() % 60) - 30);
    values.push_back(size * (std::generate_canonical<double, 53>(random) - 0.3));
  }
  const double expected = sum_of(values);
  std::shuffle(values.begin(), values.end(), random);
  EXPECT_EQ(sum_of(values), expected);
  ExactSum parts[3];
  for (const double x : values) parts[random() % 3].add(x);
  parts[1].merge(parts[2]);
  parts[0].merge(parts[1]);
  EXPECT_EQ(parts[0].value(), expected);
  long double naive = 0;
  for (const double x : values) naive += static_cast<long double>(x);
  EXPECT_NEAR(expected, static_cast<double>(naive), 1e-9 * std::abs(expected));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExactSumLaws, ::testing::Values(1U, 2U, 3U));

TEST(ExactSum, WhatIsTooLargeIsCutAndNaNIsRefused) {
  const double huge = std::ldexp(1.0, 44);
  EXPECT_EQ(sum_of({1e300}), huge);
  EXPECT_EQ(sum_of({-std::numeric_limits<double>::infinity()}), -huge);
  ExactSum sum;
  EXPECT_THROW(sum.add(std::nan("")), std::invalid_argument);
}

}  // namespace
