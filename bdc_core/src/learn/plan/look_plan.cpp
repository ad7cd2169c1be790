#include "bdc/learn/plan/look_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <unordered_map>

#include "bdc/base/parallel.h"
#include "bdc/learn/plan/label_worth.h"
#include "bdc/learn/plan/place.h"
#include "bdc/learn/plan/unseen_objects.h"

namespace bdc {
namespace {

/// Places looked at with the eyes of every annotator, at most; beyond, an image is tried with fewer people.
constexpr double kMostTrials = 3e6;
constexpr std::size_t kFewestPeople = 8, kSampleImages = 256, kImagesPerChunk = 64;
/// Places that are as good as settled are passed over.
constexpr double kLeastGain = 1e-6, kLeastExistence = 1e-3;
constexpr std::size_t kKeptOptions = 16;  ///< people that are remembered by image

/// Probability that somebody draws a box at a doubtful place where nothing is: their inventions fall on the doubtful
/// places of the image, as inventions often repeat.
double spurious_at(const Looker& looker, double doubtful) {
  return 1 - std::exp(-looker.spurious / std::max(1.0, doubtful));
}

struct Trial {
  double gain = 0, unseen = 0;
};

/// An image as it will be after the looks that are planned.
struct PlannedImage {
  std::vector<Place> places;
  double unseen = 0, doubtful = 0;
  std::vector<std::int32_t> looked;
  std::size_t planned = 0;
};

class Planner {
 public:
  Planner(const CrowdData& crowd, const Targets& targets, const AnnotatorPosteriors* posteriors, const LookTerms& terms,
          const PlanSettings& settings)
      : crowd_(crowd), targets_(targets), terms_(terms), settings_(settings) {
    check(posteriors);
    const std::size_t K = crowd.annotators.size();
    lookers_ = posteriors != nullptr ? lookers_of(*posteriors) : std::vector<Looker>(K);
    left_.assign(K, std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k < terms.looks.size(); ++k) {
      if (terms.looks[k] >= 0) left_[k] = terms.looks[k];
    }
    if (posteriors != nullptr) {
      for (const Dependence::Pair& pair : posteriors->alike) {
        alike_[key(pair.first, pair.second)] = pair.share;
      }
    }
    excluded_.resize(crowd.images.size());
    for (const Assignment& a : terms.excluded) excluded_[static_cast<std::size_t>(a.image)].push_back(a.annotator);
    plan_.unseen = unseen_objects(crowd, targets, posteriors, Looker().recall);
    plan_.objects = std::accumulate(plan_.unseen.begin(), plan_.unseen.end(), 0.0);
    for (std::size_t n = 0; n < targets.box.size(); ++n) {
      plan_.objects += existence_of(targets, n);
      plan_.worth += label_worth(right_of(targets, n));
    }
  }

  LookPlan run() {
    const std::size_t images = crowd_.images.size();
    order_people();
    options_.resize(images);
    constexpr std::size_t block = 4096;  // between two reports of progress
    for (std::size_t begin = 0; begin < images; begin += block) {
      const std::size_t count = std::min(block, images - begin);
      parallel_chunks(count, kImagesPerChunk, settings_.threads, [&](std::size_t from, std::size_t to, std::size_t) {
        for (std::size_t i = begin + from; i < begin + to; ++i) options_[i] = options_of(i, image_of(i));
      });
      if (settings_.progress) settings_.progress(begin + count, images);
    }
    std::priority_queue<Choice> queue;
    for (std::size_t i = 0; i < images; ++i) queue_next(i, queue);
    const double cheapest = terms_.cost.empty() ? 1.0 : *std::min_element(terms_.cost.begin(), terms_.cost.end());
    while (!queue.empty() && within_budget(cheapest)) {
      const Choice choice = queue.top();
      queue.pop();
      const auto i = static_cast<std::size_t>(choice.image);
      if (can_pay(static_cast<std::size_t>(choice.annotator))) {
        take(choice);
        options_[i] = options_of(i, begun_.at(i));
      }
      queue_next(i, queue);
    }
    return std::move(plan_);
  }

 private:
  struct Choice {
    double ratio = 0;
    std::int32_t image = 0, annotator = 0;
    double gain = 0, unseen = 0;
    /// Of equal ratios the first image, then the first annotator, comes out of a queue first.
    bool operator<(const Choice& other) const {
      if (ratio != other.ratio) return ratio < other.ratio;
      return image != other.image ? image > other.image : annotator > other.annotator;
    }
  };

  struct Options {
    std::vector<Choice> best;
    std::size_t at = 0;
    bool all = true;  ///< nobody else could look
  };

  void check(const AnnotatorPosteriors* posteriors) const {
    const std::size_t K = crowd_.annotators.size();
    const bool sound = targets_.begin.size() == crowd_.images.size() + 1 &&
                       targets_.num_classes == static_cast<int>(crowd_.classes.size()) &&
                       (posteriors == nullptr || posteriors->annotators.size() == K) &&
                       (terms_.cost.empty() || terms_.cost.size() == K) &&
                       (terms_.looks.empty() || terms_.looks.size() == K);
    if (!sound) throw std::invalid_argument("plan_looks: targets, posteriors or terms are not those of the crowd");
    for (const double cost : terms_.cost) {
      if (!(cost > 0) || !std::isfinite(cost)) throw std::invalid_argument("plan_looks: a look must cost something");
    }
    for (const Assignment& a : terms_.excluded) {
      const bool known = a.image >= 0 && static_cast<std::size_t>(a.image) < crowd_.images.size() && a.annotator >= 0 &&
                         static_cast<std::size_t>(a.annotator) < K;
      if (!known) throw std::invalid_argument("plan_looks: an exclusion names nobody or no image");
    }
  }

  static std::uint64_t key(std::int32_t a, std::int32_t b) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(std::min(a, b))) << 32U) |
           static_cast<std::uint32_t>(std::max(a, b));
  }

  [[nodiscard]] double cost(std::size_t k) const { return terms_.cost.empty() ? 1.0 : terms_.cost[k]; }

  [[nodiscard]] bool within_budget(double more) const { return plan_.cost + more <= settings_.budget * (1 + 1e-12); }
  [[nodiscard]] bool can_pay(std::size_t k) const { return left_[k] >= 1 && within_budget(cost(k)); }

  /// An image before anything is planned.
  [[nodiscard]] PlannedImage image_of(std::size_t i) const {
    PlannedImage out;
    out.unseen = plan_.unseen[i];
    for (std::size_t n = targets_.begin[i]; n < targets_.begin[i + 1]; ++n) {
      const double exists = existence_of(targets_, n);
      out.doubtful += 1 - exists;
      if (exists >= kLeastExistence) out.places.emplace_back(targets_, n);
    }
    for (std::size_t a = crowd_.assignment_begin[i]; a < crowd_.assignment_begin[i + 1]; ++a) {
      out.looked.push_back(crowd_.assignments[a].annotator);
    }
    return out;
  }

  [[nodiscard]] bool may_look(std::size_t i, const PlannedImage& image, std::int32_t k) const {
    const auto& never = excluded_[i];
    return std::find(image.looked.begin(), image.looked.end(), k) == image.looked.end() &&
           std::find(never.begin(), never.end(), k) == never.end();
  }

  /// What a look counts of somebody who errs like those who have looked.
  [[nodiscard]] double voice(const PlannedImage& image, std::int32_t k) const {
    if (alike_.empty()) return 1;
    double shared = 0;
    for (const std::int32_t other : image.looked) {
      const auto found = alike_.find(key(k, other));
      if (found != alike_.end()) shared += found->second;
    }
    return 1 / (1 + shared);
  }

  [[nodiscard]] Trial trial(const PlannedImage& image, std::int32_t annotator) const {
    const Looker& looker = lookers_[static_cast<std::size_t>(annotator)];
    const double spurious = spurious_at(looker, image.doubtful);
    Trial out;
    out.unseen = Place(image.unseen, looker, crowd_.classes.size()).worth();
    for (const Place& place : image.places) out.gain += place.gain(looker, spurious);
    const double counts = voice(image, annotator);
    out.unseen *= counts;
    out.gain = out.gain * counts + out.unseen;
    return out;
  }

  /// Those who may look, have time and can be paid, the best first.
  [[nodiscard]] Options options_of(std::size_t i, const PlannedImage& image) const {
    Options out;
    if (image.planned >= settings_.per_image) return out;
    std::size_t tried = 0;
    for (const std::int32_t k : people_) {
      const auto person = static_cast<std::size_t>(k);
      if (!can_pay(person) || !may_look(i, image, k)) continue;
      const Trial one = trial(image, k);
      if (one.gain > kLeastGain) {
        out.best.push_back({one.gain / cost(person), static_cast<std::int32_t>(i), k, one.gain, one.unseen});
      }
      if (++tried >= people_per_image_) {
        out.all = false;
        break;
      }
    }
    const std::size_t kept = std::min(kKeptOptions, out.best.size());
    std::partial_sort(out.best.begin(), out.best.begin() + static_cast<std::ptrdiff_t>(kept), out.best.end(),
                      [](const Choice& a, const Choice& b) { return b < a; });
    if (kept < out.best.size()) out.all = false;
    out.best.resize(kept);
    out.best.shrink_to_fit();
    return out;
  }

  /// Those first who bring most for their cost, on a sample of the images; and how many of them each image is tried
  /// with.
  void order_people() {
    const std::size_t images = crowd_.images.size(), K = crowd_.annotators.size();
    people_.resize(K);
    std::iota(people_.begin(), people_.end(), 0);
    const double places = static_cast<double>(targets_.box.size() + images);
    people_per_image_ = static_cast<std::size_t>(
        std::clamp(kMostTrials / std::max(1.0, places), static_cast<double>(kFewestPeople), 1e9));
    if (people_per_image_ >= K) return;
    const std::size_t sample =
        std::min<std::size_t>(images, std::max<std::size_t>(1, kSampleImages * 64 / std::max<std::size_t>(64, K)));
    std::vector<double> gain(K, 0.0);
    for (std::size_t n = 0; n < sample; ++n) {
      const PlannedImage image = image_of(n * images / sample);
      parallel_chunks(K, kImagesPerChunk, settings_.threads, [&](std::size_t from, std::size_t to, std::size_t) {
        for (std::size_t k = from; k < to; ++k) gain[k] += trial(image, static_cast<std::int32_t>(k)).gain / cost(k);
      });
    }
    std::stable_sort(people_.begin(), people_.end(), [&](std::int32_t a, std::int32_t b) {
      return gain[static_cast<std::size_t>(a)] > gain[static_cast<std::size_t>(b)];
    });
  }

  /// Queues the best look at an image that is still possible.
  void queue_next(std::size_t i, std::priority_queue<Choice>& queue) {
    Options& options = options_[i];
    const auto skip = [&] {
      while (options.at < options.best.size() &&
             !can_pay(static_cast<std::size_t>(options.best[options.at].annotator))) {
        ++options.at;
      }
    };
    skip();
    if (options.at == options.best.size() && !options.all) {
      const auto known = begun_.find(i);
      options = options_of(i, known != begun_.end() ? known->second : image_of(i));
      skip();
    }
    if (options.at < options.best.size()) queue.push(options.best[options.at]);
  }

  void take(const Choice& choice) {
    const auto i = static_cast<std::size_t>(choice.image);
    const auto k = static_cast<std::size_t>(choice.annotator);
    auto known = begun_.find(i);
    if (known == begun_.end()) known = begun_.emplace(i, image_of(i)).first;
    PlannedImage& image = known->second;
    const Looker& looker = lookers_[k];
    const double spurious = spurious_at(looker, image.doubtful);
    for (Place& place : image.places) place.look(looker, spurious);
    image.places.emplace_back(image.unseen, looker, crowd_.classes.size());
    image.unseen *= 1 - looker.recall;
    image.doubtful += looker.spurious;
    image.looked.push_back(choice.annotator);
    ++image.planned;
    left_[k] -= 1;
    plan_.cost += cost(k);
    plan_.looks.push_back({choice.image, choice.annotator, choice.gain, choice.unseen, cost(k)});
  }

  const CrowdData& crowd_;
  const Targets& targets_;
  const LookTerms& terms_;
  const PlanSettings& settings_;
  std::vector<Looker> lookers_;
  std::vector<double> left_;  ///< looks that each still has time for
  std::unordered_map<std::uint64_t, double> alike_;
  std::vector<std::vector<std::int32_t>> excluded_;
  std::vector<std::int32_t> people_;
  std::size_t people_per_image_ = 0;
  std::vector<Options> options_;                         ///< by image
  std::unordered_map<std::size_t, PlannedImage> begun_;  ///< images that somebody is sent to
  LookPlan plan_;
};

}  // namespace

LookPlan plan_looks(const CrowdData& crowd, const Targets& targets, const AnnotatorPosteriors* posteriors,
                    const LookTerms& terms, const PlanSettings& settings) {
  return Planner(crowd, targets, posteriors, terms, settings).run();
}

std::vector<RankedPlace> places_worth_a_look(const Targets& targets, const Looker& looker) {
  std::vector<RankedPlace> out;
  out.reserve(targets.box.size());
  for (std::size_t i = 0; i + 1 < targets.begin.size(); ++i) {
    double doubtful = 0;
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) doubtful += 1 - existence_of(targets, n);
    const double spurious = spurious_at(looker, doubtful);
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) {
      out.push_back({n, static_cast<std::int32_t>(i), Place(targets, n).gain(looker, spurious)});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const RankedPlace& a, const RankedPlace& b) { return a.gain > b.gain; });
  return out;
}

}  // namespace bdc
