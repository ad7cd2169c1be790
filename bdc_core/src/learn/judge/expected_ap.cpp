#include "bdc/learn/judge/expected_ap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "bdc/base/error.h"
#include "bdc/base/random.h"
#include "bdc/crowd/clip_to_image.h"
#include "bdc/learn/learners.h"
#include "bdc/learn/plan/label_worth.h"
#include "bdc/learn/plan/looker.h"
#include "bdc/learn/plan/unseen_objects.h"
#include "bdc/metrics/aggregation_ap.h"
#include "learn/judge/simulated_labels.h"

namespace bdc {
namespace {

constexpr double kNormal90 = 1.6448536269514722;
/// How well the posterior is believed to be calibrated, one standard deviation: a factor of the odds of existence, a
/// power of the class probabilities, a factor of the boxes' deviations.
constexpr double kOdds = 2.7182818284590452, kPower = 1.5, kSpread = 1.4;
/// Draws of each departure; they share their random numbers, so that few are enough.
constexpr int kDoubtDraws = 3;
constexpr double kFewestObjects = 20;
constexpr std::size_t kMostAnnotators = 64;

CocoBox to_coco(const Box& b) {
  return {b.x1, b.y1, b.width(), b.height()};
}

double median(std::vector<double> values, double otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int poisson(double mean, Random& random) {
  double left = std::exp(-std::min(mean, 500.0)), product = random.uniform();
  int n = 0;
  for (; product > left && n < 2000; ++n) product *= random.uniform();
  return n;
}

}  // namespace

TruthDraws::TruthDraws(const CrowdData& crowd, const Targets& targets, const std::vector<double>& unseen,
                       const ExpectedApSettings& settings)
    : crowd_(crowd), targets_(targets), unseen_(unseen), settings_(settings), rank_(rank_by_id(crowd.images)) {
  std::vector<double> widths, heights;
  class_share_.assign(crowd.classes.size(), 1.0);
  for (std::size_t n = 0; n < targets.box.size(); ++n) {
    const double exists = existence_of(targets, n);
    if (exists < 0.5) continue;
    widths.push_back(targets.box[n].width());
    heights.push_back(targets.box[n].height());
    class_share_[static_cast<std::size_t>(targets.label(n))] += 1;
  }
  width_ = median(std::move(widths), width_);
  height_ = median(std::move(heights), height_);
}

std::vector<TruthBox> TruthDraws::draw(std::uint64_t number, const Doubt& doubt,
                                       const std::vector<char>& evaluated) const {
  std::vector<TruthBox> out;
  const std::size_t J = crowd_.classes.size();
  const auto class_of = [&](const auto& weight, double at) {
    double sum = 0;
    for (std::size_t j = 0; j < J; ++j) sum += weight(j);
    at *= sum;
    for (std::size_t j = 0; j < J; ++j) {
      at -= weight(j);
      if (at < 0) return static_cast<std::int32_t>(j);
    }
    return static_cast<std::int32_t>(J - 1);
  };
  const auto add = [&](const Box& box, std::size_t image, std::int32_t label) {
    out.push_back({box, static_cast<std::int32_t>(image), label, false, box.area()});
  };
  for (std::size_t i = 0; i < crowd_.images.size(); ++i) {
    if (!evaluated.empty() && evaluated[i] == 0) continue;
    Random random(settings_.seed, number, i);
    for (std::size_t n = targets_.begin[i]; n < targets_.begin[i + 1]; ++n) {
      const double exists = existence_of(targets_, n), odds = exists * doubt.odds;
      const double at_existence = random.uniform(), at_class = random.uniform();
      std::array<double, 4> z{};
      for (double& x : z) x = random.normal();
      if (at_existence >= odds / (odds + 1 - exists)) continue;
      const std::int32_t label =
          doubt.power == 1
              ? class_of([&](std::size_t j) { return targets_.class_prob(n, j); }, at_class)
              : class_of([&](std::size_t j) { return std::pow(targets_.class_prob(n, j), doubt.power); }, at_class);
      Box box = targets_.box[n];
      if (!targets_.box_std.empty()) {
        const auto& deviation = targets_.box_std[n];
        const Box moved =
            clip_to_image({box.x1 + doubt.spread * deviation[0] * z[0], box.y1 + doubt.spread * deviation[1] * z[1],
                           box.x2 + doubt.spread * deviation[2] * z[2], box.y2 + doubt.spread * deviation[3] * z[3]},
                          crowd_.images[i]);
        if (moved.valid()) box = moved;
      }
      add(box, i, label);
    }
    for (int more = poisson(unseen_[i] * doubt.odds, random); more > 0; --more) {
      const double width = std::max<double>(1, crowd_.images[i].width - width_),
                   height = std::max<double>(1, crowd_.images[i].height - height_);
      const double x = random.uniform(0, width), y = random.uniform(0, height);
      add({x, y, x + width_, y + height_}, i,
          class_of([&](std::size_t j) { return class_share_[j]; }, random.uniform()));
    }
  }
  return out;
}

std::vector<TruthBox> TruthDraws::truth(std::uint64_t number) const {
  return draw(number, {}, {});
}

std::array<double, 3> TruthDraws::ap_of(const std::vector<CocoDetection>& detections, std::uint64_t number,
                                        const Doubt& doubt, const std::vector<char>& evaluated) const {
  CocoEvalOptions options;
  options.threads = settings_.threads;
  options.max_detections = {100};
  options.area_ranges = {{"all", 0, 1e10}};
  std::vector<CocoTruth> truth;
  for (const TruthBox& t : draw(number, doubt, evaluated)) {
    truth.push_back({to_coco(t.box), t.area, rank_[static_cast<std::size_t>(t.image)], t.label, false});
  }
  const CocoEvalResult result = coco_evaluate(detections, truth, crowd_.images.size(), crowd_.classes.size(), options);
  double sum = 0;
  for (std::size_t t = 0; t < options.iou_thresholds.size(); ++t) sum += std::max(0.0, result.ap_at(t, 0, 0));
  return {sum / static_cast<double>(options.iou_thresholds.size()), std::max(0.0, result.ap_at(0, 0, 0)),
          std::max(0.0, result.ap_at(5, 0, 0))};
}

int TruthDraws::steps(const ExpectedApSettings& settings) {
  return settings.draws + 6 * kDoubtDraws;
}

ExpectedAp TruthDraws::judge(const std::vector<CocoDetection>& detections, const std::vector<char>& evaluated) const {
  std::vector<std::array<double, 3>> drawn;
  int done = 0;
  const auto told = [&] {
    if (settings_.progress) settings_.progress(++done, steps(settings_));
  };
  for (int s = 0; s < settings_.draws; ++s) {
    drawn.push_back(ap_of(detections, static_cast<std::uint64_t>(s), {}, evaluated));
    told();
  }
  std::array<double, 3> mean{}, variance{};
  for (const auto& one : drawn) {
    for (std::size_t m = 0; m < 3; ++m) mean[m] += one[m] / settings_.draws;
  }
  for (const auto& one : drawn) {
    for (std::size_t m = 0; m < 3; ++m) {
      variance[m] += (one[m] - mean[m]) * (one[m] - mean[m]) / std::max(1, settings_.draws - 1);
    }
  }
  ExpectedAp out;
  out.draws = std::sqrt(variance[0]);
  const auto departure = [&](const Doubt& surer, const Doubt& less_sure) {
    std::array<double, 3> half{};
    for (int s = 0; s < kDoubtDraws; ++s) {
      const auto up = ap_of(detections, static_cast<std::uint64_t>(s), surer, evaluated);
      told();
      const auto down = ap_of(detections, static_cast<std::uint64_t>(s), less_sure, evaluated);
      told();
      for (std::size_t m = 0; m < 3; ++m) half[m] += (up[m] - down[m]) / 2 / kDoubtDraws;
    }
    for (std::size_t m = 0; m < 3; ++m) variance[m] += settings_.doubt * settings_.doubt * half[m] * half[m];
    return settings_.doubt * std::abs(half[0]);
  };
  out.existence = departure({kOdds, 1, 1}, {1 / kOdds, 1, 1});
  out.classes = departure({1, kPower, 1}, {1, 1 / kPower, 1});
  out.boxes = departure({1, 1, 1 / kSpread}, {1, 1, kSpread});
  const auto figure = [&](std::size_t m) {
    const double half = kNormal90 * std::sqrt(variance[m]);
    return ExpectedFigure{mean[m], std::max(0.0, mean[m] - half), std::min(1.0, mean[m] + half)};
  };
  out.ap = figure(0);
  out.ap50 = figure(1);
  out.ap75 = figure(2);
  return out;
}

std::array<double, 3> TruthDraws::ap_against(const std::vector<CocoDetection>& detections, std::uint64_t number) const {
  return ap_of(detections, number, {}, {});
}

std::array<double, 3> TruthDraws::mean_of(const std::vector<CocoDetection>& detections,
                                          const std::vector<char>& evaluated) const {
  std::array<double, 3> sum{};
  for (int s = 0; s < kDoubtDraws; ++s) {
    const auto one = ap_of(detections, static_cast<std::uint64_t>(s), {}, evaluated);
    for (std::size_t m = 0; m < 3; ++m) sum[m] += one[m] / kDoubtDraws;
  }
  return sum;
}

Ceilings label_ceilings(const CrowdData& crowd, const Targets& targets, const TruthDraws& draws) {
  Ceilings out;
  out.consensus = draws.mean_of(coco_detections(targets, crowd, std::vector<char>(crowd.images.size(), 1)))[0];
  const auto rank = rank_by_id(crowd.images);
  const std::size_t K = crowd.annotators.size();
  std::vector<double> objects(crowd.images.size(), 0.0), shown(K, 0.0);
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    for (std::size_t n = targets.begin[i]; n < targets.begin[i + 1]; ++n) objects[i] += existence_of(targets, n);
  }
  for (const Assignment& a : crowd.assignments) {
    shown[static_cast<std::size_t>(a.annotator)] += objects[static_cast<std::size_t>(a.image)];
  }
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < K; ++k) {
    if (shown[k] > 0) order.push_back(k);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return shown[a] > shown[b]; });
  if (order.size() > kMostAnnotators) order.resize(kMostAnnotators);
  double weights = 0;
  for (const std::size_t k : order) {
    std::vector<char> seen(crowd.images.size(), 0);
    for (const Assignment& a : crowd.assignments) {
      if (static_cast<std::size_t>(a.annotator) == k) seen[static_cast<std::size_t>(a.image)] = 1;
    }
    std::vector<CocoDetection> drawn;
    for (const Annotation& a : crowd.annotations) {
      if (static_cast<std::size_t>(a.annotator) != k) continue;
      drawn.push_back({to_coco(a.box), 1, rank[static_cast<std::size_t>(a.image)], a.label});
    }
    const double ap = draws.mean_of(drawn, seen)[0];
    out.one_annotator += shown[k] * ap;
    weights += shown[k];
    if (shown[k] >= kFewestObjects && ap > out.best_annotator) {
      out.best_annotator = ap;
      out.best = k;
    }
  }
  out.annotators = order.size();
  if (weights > 0) out.one_annotator /= weights;
  return out;
}

namespace {

/// One class per box: how far the detector's classes can be believed is learnt, not taken from its scores.
Predictions one_class_each(Predictions p) {
  const auto J = static_cast<std::size_t>(p.num_classes);
  for (std::size_t n = 0; n < p.box.size(); ++n) {
    const auto row = p.class_probs.begin() + static_cast<std::ptrdiff_t>(n * J);
    const auto end = row + static_cast<std::ptrdiff_t>(J), best = std::max_element(row, end);
    std::fill(row, best, 0.0);
    std::fill(best + 1, end, 0.0);
    *best = 1;
  }
  return p;
}

struct Fitted {
  FitResult fit;
  std::vector<double> unseen;  ///< by people and detector
};

/// predictions: null for the annotations alone.
Fitted fit_together(const CrowdData& crowd, const Predictions* predictions, const ExpectedApSettings& settings) {
  FitInput input;
  input.crowd = &crowd;
  input.predictions = predictions;
  input.threads = settings.threads;
  Fitted out;
  out.fit = make_learner("absence_aware")->fit(input);
  out.unseen =
      unseen_objects(crowd, out.fit.targets, out.fit.posteriors ? &*out.fit.posteriors : nullptr, Looker().recall);
  if (predictions == nullptr) return out;
  const Targets& t = out.fit.targets;
  double seen = 0, all = 1e-9;  // how much of what exists the detector finds
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    for (std::size_t n = t.begin[i]; n < t.begin[i + 1]; ++n) {
      all += existence_of(t, n);
      for (std::size_t m = predictions->begin[i]; m < predictions->begin[i + 1]; ++m) {
        if (iou(predictions->box[m], t.box[n]) < 0.5) continue;
        seen += existence_of(t, n);
        break;
      }
    }
  }
  for (double& u : out.unseen) u *= 1 - seen / all;
  return out;
}

/// What is judged, given a fit: a detector is the same whatever was fitted, labels are not.
using Judged = std::function<std::vector<CocoDetection>(const Fitted& fitted, const CrowdData& crowd)>;

/// What draws from a repeated fit expect, less the AP against the draw that was taken for the truth; mean and variance.
std::array<std::array<double, 2>, 3> marked_down(const CrowdData& crowd, const Predictions* predictions,
                                                 const Judged& judged, const Fitted& fitted, const TruthDraws& draws,
                                                 const ExpectedApSettings& settings) {
  std::array<std::array<double, 2>, 3> out{};
  std::vector<std::array<double, 3>> found;
  for (int trial = 0; trial < settings.trials; ++trial) {
    const auto number = static_cast<std::uint64_t>(trial);
    const CrowdData again =
        simulated_labels(crowd, draws.truth(number), *fitted.fit.posteriors, settings.seed + number);
    const Fitted repeated = fit_together(again, predictions, settings);
    const TruthDraws inner(again, repeated.fit.targets, repeated.unseen, settings);
    const std::vector<CocoDetection> detections = judged(repeated, again);
    const auto real = draws.ap_against(detections, number), expected = inner.mean_of(detections);
    found.push_back({expected[0] - real[0], expected[1] - real[1], expected[2] - real[2]});
  }
  for (std::size_t m = 0; m < 3; ++m) {
    for (const auto& one : found) out[m][0] += one[m] / settings.trials;
    for (const auto& one : found) {
      out[m][1] += (one[m] - out[m][0]) * (one[m] - out[m][0]) / std::max(1, settings.trials - 1);
    }
  }
  return out;
}

void correct(ExpectedFigure& figure, const std::array<double, 2>& shift) {
  const double half = (figure.high - figure.low) / 2 / kNormal90;
  const double wide = kNormal90 * std::sqrt(half * half + shift[0] * shift[0] / 4 + shift[1]);
  figure.mean = std::clamp(figure.mean - shift[0], 0.0, 1.0);
  figure.low = std::max(0.0, figure.mean - wide);
  figure.high = std::min(1.0, figure.mean + wide);
}

ExpectedAp expected_of(const CrowdData& crowd, const Predictions* predictions, const Judged& judged,
                       const Fitted& fitted, const TruthDraws& draws, const ExpectedApSettings& settings) {
  ExpectedAp out = draws.judge(judged(fitted, crowd));
  if (settings.trials == 0 || !fitted.fit.posteriors) return out;
  const auto shift = marked_down(crowd, predictions, judged, fitted, draws, settings);
  out.correction = -shift[0][0];
  correct(out.ap, shift[0]);
  correct(out.ap50, shift[1]);
  correct(out.ap75, shift[2]);
  return out;
}

std::vector<CocoDetection> consensus_of(const Fitted& fitted, const CrowdData& crowd) {
  return coco_detections(fitted.fit.targets, crowd, std::vector<char>(crowd.images.size(), 1));
}

}  // namespace

ExpectedAp judge_labels(const CrowdData& crowd, const FitResult& fit, const ExpectedApSettings& given) {
  // A consensus is judged by its own posterior alone, which the trials test; so half of the doubt is enough.
  ExpectedApSettings settings = given;
  settings.doubt *= 0.5;
  Fitted fitted;
  fitted.fit.targets = fit.targets;
  fitted.fit.posteriors = fit.posteriors;
  fitted.unseen = unseen_objects(crowd, fit.targets, fit.posteriors ? &*fit.posteriors : nullptr, Looker().recall);
  const TruthDraws draws(crowd, fitted.fit.targets, fitted.unseen, settings);
  return expected_of(crowd, nullptr, consensus_of, fitted, draws, settings);
}

Judgement judge_detector(const CrowdData& crowd, const Predictions& predictions,
                         const std::vector<CocoDetection>& detections, const ExpectedApSettings& settings) {
  if (crowd.annotators.empty()) throw DataError("the labels have no annotators, so there is nobody to judge by");
  const Predictions voice = one_class_each(predictions);
  Fitted fitted = fit_together(crowd, &voice, settings);
  const TruthDraws draws(crowd, fitted.fit.targets, fitted.unseen, settings);
  Judgement out;
  const Judged same = [&](const Fitted&, const CrowdData&) { return detections; };
  out.expected = expected_of(crowd, &voice, same, fitted, draws, settings);
  out.ceilings = label_ceilings(crowd, fitted.fit.targets, draws);
  for (std::size_t n = 0; n < fitted.fit.targets.box.size(); ++n) out.objects += existence_of(fitted.fit.targets, n);
  for (const double u : fitted.unseen) out.objects += u;
  out.warnings = std::move(fitted.fit.warnings);
  out.consensus = std::move(fitted.fit.targets);
  return out;
}

}  // namespace bdc
