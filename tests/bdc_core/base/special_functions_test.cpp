#include "bdc/base/special_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

constexpr double kEulerGamma = 0.57721566490153286060651209;

TEST(Digamma, KnowsItsClosedForms) {
  EXPECT_NEAR(bdc::digamma(1) - bdc::digamma(2), -1, 1e-12);
  EXPECT_NEAR(bdc::digamma(1), -kEulerGamma, 1e-12);
  EXPECT_NEAR(bdc::digamma(0.5), -kEulerGamma - 2 * std::log(2.0), 1e-12);
  const double pi = std::acos(-1.0);
  EXPECT_NEAR(bdc::digamma(0.25), -kEulerGamma - pi / 2 - 3 * std::log(2.0), 1e-12);
  double harmonic = 0;
  for (int n = 1; n < 200; ++n) {
    EXPECT_NEAR(bdc::digamma(n), harmonic - kEulerGamma, 1e-12) << n;
    harmonic += 1.0 / n;
  }
}

TEST(Digamma, ObeysTheRecurrenceAndTheDuplicationFormula) {
  for (double x = 1e-3; x < 1e8; x *= 1.07) {
    const double tolerance = 1e-12 * std::max(1.0, 1 / x);
    EXPECT_NEAR(bdc::digamma(x + 1), bdc::digamma(x) + 1 / x, tolerance) << x;
    EXPECT_NEAR(bdc::digamma(2 * x), (bdc::digamma(x) + bdc::digamma(x + 0.5)) / 2 + std::log(2.0), tolerance) << x;
  }
}

TEST(LogGamma, AgreesWithTheStandardLibrary) {
  for (double x = 1e-3; x < 1e9; x *= 1.05) {
    EXPECT_NEAR(bdc::log_gamma(x), std::lgamma(x), 1e-12 * std::max(1.0, std::abs(std::lgamma(x)))) << x;
  }
  EXPECT_NEAR(bdc::log_gamma(1), 0, 1e-14);
  EXPECT_NEAR(bdc::log_gamma(2), 0, 1e-14);
}

TEST(GammaNear, AgreesWithTheFunctionsEverywhere) {
  for (const double center : {0.1, 0.5, 1.0, 3.7, 10.0, 250.0}) {
    const bdc::GammaNear near(center);
    for (double factor = 0.9; factor < 1.1; factor += 0.0003) {
      const double x = center * factor;
      EXPECT_NEAR(near.digamma(x), bdc::digamma(x), 1e-12 * std::max(1.0, std::abs(bdc::digamma(x)))) << x;
      EXPECT_NEAR(near.log_gamma(x), bdc::log_gamma(x), 1e-12 * std::max(1.0, std::abs(bdc::log_gamma(x)))) << x;
    }
    EXPECT_EQ(near.digamma(3 * center), bdc::digamma(3 * center));
  }
}

TEST(SpecialFunctions, AreNotANumberOutsideTheirDomain) {
  for (const double x : {0.0, -1.0, -0.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(bdc::digamma(x)));
    EXPECT_TRUE(std::isnan(bdc::log_gamma(x)));
  }
}

TEST(SpecialFunctions, RiseOfLogGammaIsTheDifferenceOfLogGammas) {
  for (const double x : {1e-3, 0.02, 0.5, 1.0, 7.5, 300.0, 2e6}) {
    for (const double by : {0.0, 1e-9, 5e-5, 2e-3, 0.3, 4.0, 1000.0}) {
      const double expected = bdc::log_gamma(x + by) - bdc::log_gamma(x);
      const double rounding = 1e-12 * (1 + std::abs(bdc::log_gamma(x)) + std::abs(bdc::log_gamma(x + by)));
      EXPECT_NEAR(bdc::log_gamma_rise(x, by), expected, rounding) << x << " " << by;
    }
  }
  EXPECT_TRUE(std::isnan(bdc::log_gamma_rise(0, 1)));
  EXPECT_TRUE(std::isnan(bdc::log_gamma_rise(1, -1)));
}

}  // namespace
