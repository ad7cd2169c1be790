#include "learn/judge/simulated_labels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bdc/base/random.h"
#include "bdc/crowd/clip_to_image.h"
#include "bdc/learn/plan/looker.h"

namespace bdc {
namespace {

constexpr std::uint64_t kStream = 51;

std::int32_t called(const Looker& looker, std::size_t j, std::size_t classes, Random& random) {
  double at = random.uniform();
  for (std::size_t l = 0; l < classes; ++l) {
    at -= looker.says(j, l, classes);
    if (at < 0) return static_cast<std::int32_t>(l);
  }
  return static_cast<std::int32_t>(j);
}

}  // namespace

CrowdData simulated_labels(const CrowdData& crowd, const std::vector<TruthBox>& truth,
                           const AnnotatorPosteriors& posteriors, std::uint64_t seed) {
  const std::vector<Looker> people = lookers_of(posteriors);
  const std::size_t J = crowd.classes.size();
  CrowdData out = crowd;
  out.annotations.clear();
  std::vector<std::size_t> begin(crowd.images.size() + 1, 0);
  for (const TruthBox& t : truth) ++begin[static_cast<std::size_t>(t.image) + 1];
  for (std::size_t i = 0; i < crowd.images.size(); ++i) begin[i + 1] += begin[i];
  double extent = 1;
  for (const Annotation& a : crowd.annotations) extent = std::max({extent, a.box.x2, a.box.y2});
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    const double width = crowd.images[i].width > 0 ? crowd.images[i].width : extent,
                 height = crowd.images[i].height > 0 ? crowd.images[i].height : extent;
    for (std::size_t a = crowd.assignment_begin[i]; a < crowd.assignment_begin[i + 1]; ++a) {
      const std::int32_t annotator = crowd.assignments[a].annotator;
      const auto k = static_cast<std::size_t>(annotator);
      const Looker& who = people[k];
      Random random(seed, kStream + k, i);
      const auto draw = [&](const Box& box, std::int32_t label) {
        const Box inside = clip_to_image(box, crowd.images[i]);
        if (inside.valid()) out.annotations.push_back({inside, static_cast<std::int32_t>(i), label, annotator});
      };
      for (std::size_t t = begin[i]; t < begin[i + 1]; ++t) {
        std::array<double, 4> z{};
        for (double& x : z) x = who.box_noise * random.normal();
        const double drawn = random.uniform();
        const std::int32_t label = called(who, static_cast<std::size_t>(truth[t].label), J, random);
        if (drawn >= who.recall) continue;
        const Box& b = truth[t].box;
        const double w = b.width(), h = b.height();
        draw({b.x1 + w * z[0], b.y1 + h * z[1], b.x2 + w * z[2], b.y2 + h * z[3]}, label);
      }
      for (double left = -std::log(1 - random.uniform()); left < who.spurious; left -= std::log(1 - random.uniform())) {
        const double w = width * std::exp(random.uniform(-2.5, -0.5)),
                     h = height * std::exp(random.uniform(-2.5, -0.5));
        const double x = random.uniform(0, width - w), y = random.uniform(0, height - h);
        draw({x, y, x + w, y + h}, static_cast<std::int32_t>(random.below(static_cast<std::int64_t>(J))));
      }
    }
  }
  out.truth.clear();
  out.has_truth = false;
  out.truth_covers.clear();
  out.finalize();
  return out;
}

}  // namespace bdc
