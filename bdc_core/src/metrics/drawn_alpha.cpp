#include "bdc/metrics/drawn_alpha.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "bdc/base/parallel.h"
#include "bdc/base/random.h"
#include "bdc/crowd/geometry.h"
#include "bdc/crowd/grouping.h"
#include "metrics/image_groups.h"

namespace bdc {
namespace {

constexpr std::size_t kImagesPerChunk = 128;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Count {
  std::size_t value = 0;  ///< a class, or the number of classes for "nothing"
  double count = 0;
};

/// How often each value was given at a place.
struct Unit {
  std::vector<Count> counts;  ///< above 0
  std::vector<Annotation> members;
  double values = 0;

  [[nodiscard]] double disagreement() const {
    double agree = 0;
    for (const Count& c : counts) agree += c.count * (c.count - 1);
    return values - agree / (values - 1);
  }
};

Unit unit_of(const std::vector<Annotation>& members, double lookers, std::size_t classes) {
  Unit out;
  out.members = members;
  out.values = lookers;
  for (const Annotation& a : members) {
    const auto value = static_cast<std::size_t>(a.label);
    const auto known =
        std::find_if(out.counts.begin(), out.counts.end(), [&](const Count& c) { return c.value == value; });
    if (known != out.counts.end()) {
      known->count += 1;
    } else {
      out.counts.push_back({value, 1});
    }
  }
  const double nothing = lookers - static_cast<double>(members.size());
  if (nothing > 0) out.counts.push_back({classes, nothing});
  return out;
}

std::vector<Unit> units_of(const CrowdData& crowd, std::size_t image, double overlap) {
  std::vector<Unit> out;
  const double lookers = static_cast<double>(crowd.assignment_begin[image + 1] - crowd.assignment_begin[image]);
  if (lookers < 2) return out;
  const std::size_t first = crowd.annotation_begin[image];
  std::vector<Box> boxes;
  const Groups groups = groups_of_image(crowd, image, overlap, boxes);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<Annotation> members;
    for (const std::int32_t m : groups[g]) members.push_back(crowd.annotations[first + static_cast<std::size_t>(m)]);
    out.push_back(unit_of(members, lookers, crowd.classes.size()));
  }
  return out;
}

/// Sums over units that alpha is made of.
struct Sums {
  double values = 0, disagreement = 0;
  std::vector<double> count;           ///< by value, "nothing" the last
  std::vector<double> of_class_apart;  ///< disagreement of a class against the rest

  explicit Sums(std::size_t classes) : count(classes + 1, 0.0), of_class_apart(classes, 0.0) {}

  void add(const Unit& unit, double weight) {
    if (unit.values < 2) return;
    values += weight * unit.values;
    disagreement += weight * unit.disagreement();
    for (const Count& c : unit.counts) {
      count[c.value] += weight * c.count;
      if (c.value < of_class_apart.size()) {
        of_class_apart[c.value] += weight * 2 * c.count * (unit.values - c.count) / (unit.values - 1);
      }
    }
  }
  [[nodiscard]] double alpha() const {
    double same = 0;
    for (const double c : count) same += c * (c - 1);
    return of(disagreement, values * (values - 1) - same);
  }
  [[nodiscard]] double alpha_of(std::size_t label) const {
    return of(of_class_apart[label], 2 * count[label] * (values - count[label]));
  }

 private:
  [[nodiscard]] double of(double observed, double expected) const {
    return expected > 1e-9 ? 1 - observed * (values - 1) / expected : kNaN;
  }
};

AlphaFigure figure_of(double alpha, std::vector<double> resampled) {
  resampled.erase(std::remove_if(resampled.begin(), resampled.end(), [](double x) { return std::isnan(x); }),
                  resampled.end());
  if (std::isnan(alpha) || resampled.empty()) return {alpha, kNaN, kNaN};
  std::sort(resampled.begin(), resampled.end());
  const auto at = [&](double share) {
    return resampled[static_cast<std::size_t>(std::lround(share * static_cast<double>(resampled.size() - 1)))];
  };
  return {alpha, at(0.05), at(0.95)};
}

}  // namespace

DrawnAlpha drawn_alpha(const CrowdData& crowd, double overlap, int resamples, std::uint64_t seed, int threads) {
  if (!(overlap > 0) || !(overlap < 1)) throw std::invalid_argument("drawn_alpha: the overlap must be between 0 and 1");
  const std::size_t images = crowd.images.size(), J = crowd.classes.size(), K = crowd.annotators.size();
  std::vector<std::vector<Unit>> units(images);
  parallel_chunks(images, kImagesPerChunk, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) units[i] = units_of(crowd, i, overlap);
  });
  DrawnAlpha out;
  out.overlap = overlap;
  Sums all(J);
  for (const auto& list : units) {
    out.units += list.size();
    for (const Unit& unit : list) all.add(unit, 1);
  }

  const auto repeats = static_cast<std::size_t>(std::max(0, resamples));
  std::vector<double> alphas(repeats);
  std::vector<std::vector<double>> of_class(J, std::vector<double>(repeats));
  parallel_chunks(repeats, 1, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t r = begin; r < end; ++r) {
      Random random(seed, 3, r);
      std::vector<double> times(images, 0.0);
      for (std::size_t n = 0; n < images; ++n)
        times[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(images)))] += 1;
      Sums sums(J);
      for (std::size_t i = 0; i < images; ++i) {
        if (times[i] == 0) continue;
        for (const Unit& unit : units[i]) sums.add(unit, times[i]);
      }
      alphas[r] = sums.alpha();
      for (std::size_t j = 0; j < J; ++j) of_class[j][r] = sums.alpha_of(j);
    }
  });
  out.all = figure_of(all.alpha(), std::move(alphas));
  for (std::size_t j = 0; j < J; ++j) out.classes.push_back(figure_of(all.alpha_of(j), std::move(of_class[j])));

  std::vector<std::vector<std::size_t>> seen(K);
  for (const Assignment& a : crowd.assignments) {
    seen[static_cast<std::size_t>(a.annotator)].push_back(static_cast<std::size_t>(a.image));
  }
  out.without.assign(K, kNaN);
  parallel_chunks(K, 1, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t k = begin; k < end; ++k) {
      Sums sums = all;
      for (const std::size_t i : seen[k]) {
        for (const Unit& unit : units[i]) {
          sums.add(unit, -1);
          std::vector<Annotation> others;
          for (const Annotation& a : unit.members) {
            if (static_cast<std::size_t>(a.annotator) != k) others.push_back(a);
          }
          if (!others.empty()) sums.add(unit_of(others, unit.values - 1, J), 1);
        }
      }
      out.without[k] = sums.alpha();
    }
  });
  return out;
}

}  // namespace bdc
