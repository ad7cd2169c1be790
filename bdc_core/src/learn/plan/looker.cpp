#include "bdc/learn/plan/looker.h"

#include <algorithm>
#include <cmath>

#include "bdc/learn/annotator_figures.h"
#include "bdc/learn/learners.h"

namespace bdc {
namespace {

/// So many labels of a class weigh as much as what is known of the annotator over all classes.
constexpr double kLabelsOfAClass = 5;

/// The figures come from one fit, in which people are judged by each other: what is not known of one is somewhat more
/// than counting tells.
constexpr double kDoubt = 2;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Deviation of an edge in box sizes.
double edge_noise(const AnnotatorPosteriors& posteriors, std::size_t k) {
  if (learner_traits(posteriors.profile).box_error.of_edges) return box_noise(posteriors, k);
  const auto precision = posteriors.box(k).precision();  // centre x, y, then width, height, which are relative
  return std::sqrt((1 / precision[2] + 1 / precision[3]) / 4);
}

/// Estimates of one figure over people, drawn towards their median the more, the less each of them is known: on the
/// scale of `to`, what is between people is the estimates' variance less the mean of their own.
template <class Forward, class Back>
void shrink(const std::vector<Figure>& figures, const Forward& to, const Back& back, std::vector<double>& out) {
  constexpr double interval = 2 * 1.6448536269514722;
  std::vector<double> known;
  double own = 0;
  const auto variance_of = [&](const Figure& f) {
    const double spread = (to(f.high) - to(f.low)) / interval;
    return spread * spread;
  };
  for (const Figure& f : figures) {
    if (!f.determined) continue;
    known.push_back(to(f.mean));
    own += variance_of(f);
  }
  if (known.empty()) return;
  const double middle = median(known), count = static_cast<double>(known.size());
  double all = 0;
  for (const double x : known) all += (x - middle) * (x - middle) / std::max(1.0, count - 1);
  const double between = std::max(0.0, all - kDoubt * own / count);
  for (std::size_t k = 0; k < figures.size(); ++k) {
    if (!figures[k].determined) continue;
    const double doubt = kDoubt * variance_of(figures[k]);
    out[k] = back(middle + (to(figures[k].mean) - middle) * (between > 0 ? between / (between + doubt) : 0.0));
  }
}

double logit(double p) {
  const double inside = std::clamp(p, 1e-4, 1 - 1e-4);
  return std::log(inside / (1 - inside));
}
double unlogit(double x) {
  return 1 / (1 + std::exp(-x));
}
double log_of(double x) {
  return std::log(std::max(x, 1e-4));
}

}  // namespace

double Looker::says(std::size_t j, std::size_t l, std::size_t classes) const {
  if (classes <= 1) return 1;
  const double overall = j == l ? accuracy : (1 - accuracy) / static_cast<double>(classes - 1);
  if (confusion == nullptr) return overall;
  double shown = 0, called = 0;
  for (std::size_t c = confusion->begin[annotator]; c < confusion->begin[annotator + 1]; ++c) {
    const double count = confusion->value[c * classes + j];
    shown += count;
    if (static_cast<std::size_t>(confusion->label[c]) == l) called = count;
  }
  return (called + kLabelsOfAClass * overall) / (shown + kLabelsOfAClass);
}

Looker trusted_person() {
  Looker out;
  out.recall = out.accuracy = 1;
  out.spurious = out.box_noise = 0;
  out.recall_learnt = out.accuracy_learnt = out.box_noise_learnt = true;
  return out;
}

Looker median_annotator(const AnnotatorPosteriors& posteriors) {
  Looker out;
  std::vector<double> recall, spurious, accuracy, noise;
  for (std::size_t k = 0; k < posteriors.annotators.size(); ++k) {
    if (!(posteriors.annotators[k].annotations > 0)) continue;
    recall.push_back(posteriors.mean_recall(k));
    spurious.push_back(posteriors.mean_spurious_per_image(k));
    accuracy.push_back(posteriors.accuracy(k));
    noise.push_back(edge_noise(posteriors, k));
  }
  if (recall.empty()) return out;
  if (posteriors.tells_recall()) {
    out.recall = median(recall);
    out.spurious = median(spurious);
    out.recall_learnt = true;
  }
  if (posteriors.tells_boxes()) {
    out.box_noise = median(noise);
    out.box_noise_learnt = true;
  }
  out.accuracy = median(accuracy);
  out.accuracy_learnt = true;
  return out;
}

std::vector<Looker> lookers_of(const AnnotatorPosteriors& posteriors) {
  const Looker typical = median_annotator(posteriors);
  const std::size_t K = posteriors.annotators.size();
  std::vector<double> recall(K, typical.recall), spurious(K, typical.spurious), accuracy(K, typical.accuracy),
      noise(K, typical.box_noise);
  const auto shrunk = [&](Figure (*figure)(const AnnotatorPosteriors&, std::size_t), auto to, auto back,
                          std::vector<double>& into) {
    std::vector<Figure> figures;
    for (std::size_t k = 0; k < K; ++k) figures.push_back(figure(posteriors, k));
    shrink(figures, to, back, into);
  };
  const auto exp_of = [](double x) { return std::exp(x); };
  if (posteriors.tells_recall()) {
    shrunk(recall_figure, logit, unlogit, recall);
    shrunk(spurious_figure, log_of, exp_of, spurious);
  }
  if (posteriors.tells_classes()) shrunk(accuracy_figure, logit, unlogit, accuracy);
  if (posteriors.tells_boxes()) {
    std::vector<Figure> figures;
    for (std::size_t k = 0; k < K; ++k) {
      Figure f = box_noise_figure(posteriors, k);
      const double scale = edge_noise(posteriors, k) / f.mean;  // in box sizes, whatever the profile measures
      figures.push_back({f.mean * scale, f.low * scale, f.high * scale, f.determined});
    }
    shrink(figures, log_of, exp_of, noise);
  }
  std::vector<Looker> out(K, typical);
  for (std::size_t k = 0; k < K; ++k) {
    out[k].annotator = k;
    out[k].recall = recall[k];
    out[k].spurious = spurious[k];
    out[k].accuracy = accuracy[k];
    out[k].box_noise = noise[k];
    const bool known = posteriors.tells_classes() && accuracy_figure(posteriors, k).determined;
    if (known && posteriors.confusion.num_classes > 0) out[k].confusion = &posteriors.confusion;
  }
  return out;
}

}  // namespace bdc
