#include "bdc/learn/plan/unseen_objects.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bdc/learn/plan/label_worth.h"

namespace bdc {
namespace {

/// 0.004 to 120 objects per image; the lowest stands for images that are empty.
constexpr std::size_t kRates = 58;
constexpr int kSteps = 60;
constexpr double kLeastMiss = 1e-3;  ///< nobody is known to see everything

}  // namespace

std::vector<double> unseen_objects(const CrowdData& crowd, const Targets& targets,
                                   const AnnotatorPosteriors* posteriors, double recall) {
  const std::size_t images = crowd.images.size();
  std::array<double, kRates> rate{}, log_rate{}, share{};
  for (std::size_t m = 0; m < kRates; ++m) {
    rate[m] = 0.004 * std::pow(1.2, static_cast<double>(m));
    log_rate[m] = std::log(rate[m]);
    share[m] = 1.0 / static_cast<double>(kRates);
  }
  const bool learnt = posteriors != nullptr && posteriors->tells_recall();
  std::vector<double> found(images, 0.0), miss(images, 1.0);
  for (std::size_t i = 0; i < images; ++i) {
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) found[i] += existence_of(targets, n);
    for (std::size_t a = crowd.assignment_begin[i]; a < crowd.assignment_begin[i + 1]; ++a) {
      const auto k = static_cast<std::size_t>(crowd.assignments[a].annotator);
      miss[i] *= std::clamp(1 - (learnt ? posteriors->mean_recall(k) : recall), kLeastMiss, 1.0);
    }
  }
  const auto posterior = [&](std::size_t i, std::array<double, kRates>& p) {
    double top = -1e300, sum = 0;
    for (std::size_t m = 0; m < kRates; ++m) {
      p[m] = std::log(share[m] + 1e-300) + found[i] * log_rate[m] - rate[m] * (1 - miss[i]);
      top = std::max(top, p[m]);
    }
    for (double& x : p) sum += x = std::exp(x - top);
    for (double& x : p) x /= sum;
  };
  std::array<double, kRates> p{};
  for (int step = 0; step < kSteps; ++step) {
    std::array<double, kRates> count{};
    double looked = 0;
    for (std::size_t i = 0; i < images; ++i) {
      if (miss[i] == 1) continue;  // nobody looked: it tells nothing
      posterior(i, p);
      for (std::size_t m = 0; m < kRates; ++m) count[m] += p[m];
      looked += 1;
    }
    constexpr double prior = 0.005;
    for (std::size_t m = 0; m < kRates; ++m) {
      share[m] = (count[m] + prior) / (looked + prior * static_cast<double>(kRates));
    }
  }
  std::vector<double> out(images);
  for (std::size_t i = 0; i < images; ++i) {
    posterior(i, p);
    double mean = 0;
    for (std::size_t m = 0; m < kRates; ++m) mean += p[m] * rate[m];
    out[i] = miss[i] * mean;
  }
  return out;
}

}  // namespace bdc
