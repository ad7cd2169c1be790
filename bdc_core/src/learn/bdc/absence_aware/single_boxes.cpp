#include "learn/bdc/absence_aware/single_boxes.h"

#include <algorithm>
#include <cmath>

#include "bdc/base/parallel.h"

namespace bdc::absence_aware {
namespace {

constexpr int kRounds = 30;
constexpr double kSettled = 1e-4;

/// What a class probability under the shares of all objects is multiplied by, up to a factor.
double change_of(const AbsenceAwareBeliefs& beliefs, const std::vector<double>& share, std::size_t j) {
  return share[j] * std::exp(-beliefs.log_class[j]);
}

/// Calls body(number in the set, probability) for the classes of a candidate; change(class).
template <class Change, class Body>
void for_classes(const Candidate& c, const ClassSet& classes, const Change& change, const Body& body) {
  double sum = 0;
  for (std::size_t u = 0; u < classes.size(); ++u) sum += static_cast<double>(c.class_probs[u]) * change(classes[u]);
  if (!(sum > 0)) return;
  for (std::size_t u = 0; u < classes.size(); ++u) {
    body(u, static_cast<double>(c.class_probs[u]) * change(classes[u]) / sum);
  }
}

}  // namespace

std::vector<double> single_box_shares(const Problem& problem, const std::vector<ImageState>& state,
                                      const AbsenceAwareBeliefs& beliefs, const ImageShare& share, int threads) {
  const std::size_t J = beliefs.classes;
  double total = 0;
  for (const double w : beliefs.class_weight) total += w;
  std::vector<double> prior(J);
  for (std::size_t j = 0; j < J; ++j) prior[j] = beliefs.class_weight[j] / total;
  std::vector<double> out = prior;
  double moved = 1;
  for (int round = 0; round < kRounds && moved > kSettled; ++round) {
    std::vector<double> change(J);
    for (std::size_t j = 0; j < J; ++j) change[j] = change_of(beliefs, out, j);
    std::vector<double> part(share.blocks() * J, 0.0);
    parallel_chunks(problem.images(), share.images_per_block(), threads,
                    [&](std::size_t begin, std::size_t end, std::size_t block) {
                      for (std::size_t i = begin; i < end; ++i) {
                        if (state[i].blank) continue;
                        const ImageItems image = problem.image(i);
                        for (const Candidate& c : state[i].candidates) {
                          if (!is_single_box(c, image)) continue;
                          const ClassSet classes = state[i].classes_of(c, J);
                          for_classes(
                              c, classes, [&](std::size_t j) { return change[j]; },
                              [&](std::size_t u, double p) { part[block * J + classes[u]] += c.existence * p; });
                        }
                      }
                    });
    part = share.join_blocks(std::move(part), J);
    std::vector<double> next(J);
    for (std::size_t j = 0; j < J; ++j) next[j] = prior[j] * static_cast<double>(J);
    for (std::size_t n = 0; n < part.size(); ++n) next[n % J] += part[n];
    double sum = 0;
    for (const double x : next) sum += x;
    moved = 0;
    for (std::size_t j = 0; j < J; ++j) {
      moved = std::max(moved, std::abs(next[j] / sum - out[j]));
      out[j] = next[j] / sum;
    }
  }
  return out;
}

void set_single_box_classes(const AbsenceAwareBeliefs& beliefs, const ClassSet& classes, Candidate& c) {
  if (beliefs.labels.single_share.empty()) return;
  for_classes(
      c, classes, [&](std::size_t j) { return change_of(beliefs, beliefs.labels.single_share, j); },
      [&](std::size_t u, double p) { c.class_probs[u] = static_cast<float>(p); });
}

}  // namespace bdc::absence_aware
