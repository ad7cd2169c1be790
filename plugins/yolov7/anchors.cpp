#include "yolov7/anchors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace yolov7 {
namespace {

constexpr double kRatio = 4.0;            // as in the assignment
constexpr double kSmallest = 2.0;         // pixels
constexpr std::size_t kMostBoxes = 5000;  // for the search; an even sample of more

double fit(double w, double h, const BoxSize& box) {
  return std::min(std::min(box.width / w, w / box.width), std::min(box.height / h, h / box.height));
}

double best_fit(const std::vector<double>& anchors, const BoxSize& box) {
  double best = 0;
  for (std::size_t i = 0; i + 1 < anchors.size(); i += 2) best = std::max(best, fit(anchors[i], anchors[i + 1], box));
  return best;
}

std::vector<BoxSize> usable(const std::vector<BoxSize>& boxes) {
  std::vector<BoxSize> out;
  for (const BoxSize& box : boxes) {
    if (box.width >= kSmallest && box.height >= kSmallest && std::isfinite(box.width) && std::isfinite(box.height)) {
      out.push_back(box);
    }
  }
  if (out.size() <= kMostBoxes) return out;
  std::vector<BoxSize> sample(kMostBoxes);
  for (std::size_t i = 0; i < kMostBoxes; ++i) sample[i] = out[i * out.size() / kMostBoxes];
  return sample;
}

/// Uniform in [0, 1). Distributions of the standard library differ between implementations; this does not.
double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1.0p-53;
}

double normal(std::mt19937_64& random) {
  constexpr double two_pi = 6.283185307179586;
  const double u = uniform(random), v = uniform(random);
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(two_pi * v);
}

/// Means of clusters in the logarithm of the sizes, where a factor is a distance; first centres spread out (k-means++).
std::vector<double> cluster(const std::vector<BoxSize>& boxes, std::size_t k, int rounds, std::mt19937_64& random) {
  const std::size_t n = boxes.size();
  std::vector<double> x(n), y(n), nearest(n, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = std::log(boxes[i].width);
    y[i] = std::log(boxes[i].height);
  }
  const auto distance = [&](std::size_t i, double cx, double cy) {
    return (x[i] - cx) * (x[i] - cx) + (y[i] - cy) * (y[i] - cy);
  };
  std::vector<double> cx, cy;
  std::size_t next = std::min(n - 1, static_cast<std::size_t>(uniform(random) * static_cast<double>(n)));
  while (cx.size() < k) {
    cx.push_back(x[next]);
    cy.push_back(y[next]);
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) total += nearest[i] = std::min(nearest[i], distance(i, cx.back(), cy.back()));
    double left = uniform(random) * total;
    for (next = 0; next + 1 < n && (left -= nearest[next]) > 0; ++next) {
    }
  }
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> sx(k), sy(k), members(k);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t best = 0;
      for (std::size_t c = 1; c < k; ++c) {
        if (distance(i, cx[c], cy[c]) < distance(i, cx[best], cy[best])) best = c;
      }
      sx[best] += x[i];
      sy[best] += y[i];
      members[best] += 1;
    }
    for (std::size_t c = 0; c < k; ++c) {
      if (!(members[c] > 0)) continue;  // an empty cluster stays where it is
      cx[c] = sx[c] / members[c];
      cy[c] = sy[c] / members[c];
    }
  }
  std::vector<double> anchors;
  for (std::size_t c = 0; c < k; ++c) {
    anchors.push_back(std::exp(cx[c]));
    anchors.push_back(std::exp(cy[c]));
  }
  return anchors;
}

}  // namespace

std::vector<double> parse_anchors(const std::string& text) {
  std::vector<double> out;
  std::size_t at = 0;
  const char* separators = ", \t\n";
  while ((at = text.find_first_not_of(separators, at)) != std::string::npos) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    const std::string word = text.substr(at, end - at);
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used != word.size() || !(value > 0) || !std::isfinite(value)) {
      throw std::invalid_argument("option 'anchors': expected numbers above 0, found '" + word.substr(0, 40) +
                                  "' (number " + std::to_string(out.size() + 1) + ")");
    }
    out.push_back(value);
    at = end;
  }
  if (out.size() != 18) {
    throw std::invalid_argument(
        "option 'anchors': expected 18 numbers (width, height in pixels; 3 pairs for each of 3 "
        "levels), found " +
        std::to_string(out.size()));
  }
  return out;
}

double best_possible_recall(const std::vector<double>& anchors, const std::vector<BoxSize>& boxes) {
  if (boxes.empty()) return 1;
  std::size_t reached = 0;
  for (const BoxSize& box : boxes) reached += best_fit(anchors, box) > 1 / kRatio ? 1 : 0;
  return static_cast<double>(reached) / static_cast<double>(boxes.size());
}

double anchor_fitness(const std::vector<double>& anchors, const std::vector<BoxSize>& boxes) {
  if (boxes.empty()) return 0;
  double sum = 0;
  for (const BoxSize& box : boxes) {
    const double best = best_fit(anchors, box);
    if (best > 1 / kRatio) sum += best;
  }
  return sum / static_cast<double>(boxes.size());
}

std::vector<double> fit_anchors(const std::vector<BoxSize>& boxes, const AnchorSearch& search) {
  const std::vector<BoxSize> sample = usable(boxes);
  if (search.count < 1 || sample.size() < static_cast<std::size_t>(search.count)) {
    throw std::invalid_argument("anchors: " + std::to_string(search.count) +
                                " anchors need at least as many boxes of " + "2 pixels or more; found " +
                                std::to_string(sample.size()));
  }
  std::mt19937_64 random(search.seed);
  std::vector<double> best = cluster(sample, static_cast<std::size_t>(search.count), search.rounds, random);
  double best_fitness = anchor_fitness(best, sample);
  for (int generation = 0; generation < search.generations; ++generation) {
    std::vector<double> changed = best;
    const double reach = uniform(random);  // large and small steps alike
    for (double& edge : changed) {
      const double factor = 1 + reach * 0.3 * normal(random);
      if (uniform(random) < 0.9) edge = std::max(kSmallest, edge * std::clamp(factor, 0.3, 3.0));
    }
    const double fitness = anchor_fitness(changed, sample);
    if (fitness > best_fitness) {
      best_fitness = fitness;
      best = std::move(changed);
    }
  }
  std::vector<std::pair<double, double>> pairs;
  for (std::size_t i = 0; i + 1 < best.size(); i += 2) pairs.emplace_back(best[i], best[i + 1]);
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return std::make_pair(a.first * a.second, a.first) < std::make_pair(b.first * b.second, b.first);
  });
  std::vector<double> out;
  for (const auto& [w, h] : pairs) {
    out.push_back(w);
    out.push_back(h);
  }
  return out;
}

std::vector<double> suited_anchors(const std::vector<double>& anchors, const std::vector<BoxSize>& boxes) {
  AnchorSearch search;
  const std::vector<BoxSize> sample = usable(boxes);
  if (sample.size() < static_cast<std::size_t>(search.count)) return anchors;
  if (best_possible_recall(anchors, sample) >= 0.98) return anchors;
  const std::vector<double> fitted = fit_anchors(sample, search);
  return anchor_fitness(fitted, sample) > anchor_fitness(anchors, sample) ? fitted : anchors;
}

}  // namespace yolov7
