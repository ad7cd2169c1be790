#include "sim_detections.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace bdc {

SimulatedDetections simulate_detections(int images, int classes, int objects, int detections, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(rng); };
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng); };
  const auto cents = [](double v) { return std::nearbyint(v * 100) / 100; };
  const auto random_box = [&] {
    const double w = std::exp(uniform(std::log(10.0), std::log(300.0))),
                 h = std::exp(uniform(std::log(10.0), std::log(300.0)));
    return CocoBox{cents(uniform(0, 1) * (640 - w)), cents(uniform(0, 1) * (640 - h)), cents(w), cents(h)};
  };
  std::vector<int> per_image(static_cast<std::size_t>(images), 0);
  for (int n = 0; n < objects; ++n) ++per_image[static_cast<std::size_t>(pick(images))];
  SimulatedDetections out;
  out.truth.reserve(static_cast<std::size_t>(objects));
  out.detections.reserve(static_cast<std::size_t>(images) * static_cast<std::size_t>(detections));
  std::normal_distribution<double> noise(0, 0.08);
  for (int i = 0; i < images; ++i) {
    const std::size_t first = out.truth.size();
    const int m = per_image[static_cast<std::size_t>(i)];
    for (int n = 0; n < m; ++n) {
      const CocoBox b = random_box();
      out.truth.push_back({b, b.width * b.height, i, pick(classes), uniform(0, 1) < 0.01});
    }
    for (int n = 0; n < detections; ++n) {
      CocoDetection d{random_box(), std::pow(uniform(0, 1), 2), i, pick(classes)};
      if (m > 0 && uniform(0, 1) < 0.35) {
        const CocoTruth& t = out.truth[first + static_cast<std::size_t>(pick(m))];
        d.box = {cents(t.box.x + t.box.width * noise(rng)), cents(t.box.y + t.box.height * noise(rng)),
                 cents(std::max(1.0, t.box.width * (1 + noise(rng)))),
                 cents(std::max(1.0, t.box.height * (1 + noise(rng))))};
        if (uniform(0, 1) < 0.8) d.label = t.label;
        d.score = std::sqrt(d.score);
      }
      d.score = std::nearbyint(d.score * 1e4) / 1e4;
      out.detections.push_back(d);
    }
  }
  return out;
}

}  // namespace bdc
