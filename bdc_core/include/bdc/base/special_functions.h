#pragma once

#include <cstddef>

namespace bdc {

/// psi(x), the derivative of ln Gamma(x), for x > 0; accurate to 1e-12 (relative, or absolute below 1). NaN otherwise.
[[nodiscard]] double digamma(double x);

/// ln Gamma(x) for x > 0; accurate to 1e-12 (relative, or absolute below 1). NaN otherwise. Unlike std::lgamma it
/// writes no global variable, so threads may call it.
[[nodiscard]] double log_gamma(double x);

/// ln Gamma(x + by) - ln Gamma(x) for x > 0, by >= 0; without the cancellation of a difference, and faster.
[[nodiscard]] double log_gamma_rise(double x, double by);

/// psi and ln Gamma for many arguments close to one: within center/32 of the centre a Taylor series, elsewhere the
/// functions above. The same accuracy, several times faster: most entries of a confusion matrix stay close to their
/// prior.
class GammaNear {
 public:
  explicit GammaNear(double center);
  [[nodiscard]] double center() const { return center_; }
  [[nodiscard]] double digamma_at_center() const { return psi_[0]; }
  [[nodiscard]] double log_gamma_at_center() const { return log_gamma_at_center_; }

  [[nodiscard]] double digamma(double x) const {
    double value = 0;
    digamma(&x, 1, &value);
    return value;
  }
  [[nodiscard]] double log_gamma(double x) const {
    double value = 0;
    log_gamma(&x, 1, &value);
    return value;
  }
  /// n values of x; out may not be x.
  void digamma(const double* x, std::size_t n, double* out) const;
  void log_gamma(const double* x, std::size_t n, double* out) const;

 private:
  static constexpr int kTerms = 8;
  [[nodiscard]] bool covers(double x) const { return x - center_ <= radius_ && x - center_ >= -radius_; }

  double center_, radius_;
  double psi_[kTerms];        ///< psi^(n)(center) / n!
  double log_gamma_[kTerms];  ///< psi^(n)(center) / (n+1)!
  double log_gamma_at_center_;
};

}  // namespace bdc
