#pragma once

namespace bdc {

/// psi(x), the derivative of ln Gamma(x), for x > 0; accurate to 1e-12 (relative, or absolute below 1). NaN otherwise.
[[nodiscard]] double digamma(double x);

/// ln Gamma(x) for x > 0; accurate to 1e-12 (relative, or absolute below 1). NaN otherwise. Unlike std::lgamma it
/// writes no global variable, so threads may call it.
[[nodiscard]] double log_gamma(double x);

/// psi and ln Gamma for many arguments close to one: within center/32 of the centre a Taylor series, elsewhere the
/// functions above. The same accuracy, several times faster: most entries of a confusion matrix stay close to their
/// prior.
class GammaNear {
 public:
  explicit GammaNear(double center);
  [[nodiscard]] double center() const { return center_; }
  [[nodiscard]] double digamma(double x) const {
    const double d = x - center_;
    if (!(d <= radius_ && d >= -radius_)) return bdc::digamma(x);
    double sum = 0;
    for (int n = kTerms - 1; n >= 0; --n) sum = sum * d + psi_[n];
    return sum;
  }
  [[nodiscard]] double log_gamma(double x) const {
    const double d = x - center_;
    if (!(d <= radius_ && d >= -radius_)) return bdc::log_gamma(x);
    double sum = 0;
    for (int n = kTerms - 1; n >= 0; --n) sum = sum * d + log_gamma_[n];
    return sum * d + log_gamma_at_center_;
  }

 private:
  static constexpr int kTerms = 8;
  double center_, radius_;
  double psi_[kTerms];        ///< psi^(n)(center) / n!
  double log_gamma_[kTerms];  ///< psi^(n)(center) / (n+1)!
  double log_gamma_at_center_;
};

}  // namespace bdc
