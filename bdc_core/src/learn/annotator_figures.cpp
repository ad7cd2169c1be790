#include "bdc/learn/annotator_figures.h"

#include <algorithm>
#include <cmath>

#include "bdc/base/table.h"

namespace bdc {
namespace {

/// Standard normal quantile of 0.95.
constexpr double kInterval = 1.6448536269514722;
/// Expected counts below this tell nothing.
constexpr double kLeastEvidence = 0.5;
/// How well the odds are known that a doubtful box is an object: up to a factor e^1.5, one standard deviation. Recall,
/// spurious rate and existence of lone boxes hang on each other, so that small errors of the model grow there.
constexpr double kDoubtfulOdds = 1.5;

/// A share with this mean and variance: normal on the logit scale.
Figure share(double mean, double variance, bool determined) {
  if (!(mean > 0 && mean < 1)) return {mean, mean, mean, determined};
  const double logit = std::log(mean / (1 - mean)), spread = kInterval * std::sqrt(variance) / (mean * (1 - mean));
  const auto back = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {mean, back(logit - spread), back(logit + spread), determined};
}

/// A positive figure with this relative variance: normal on the log scale.
Figure positive(double mean, double relative_variance, bool determined) {
  const double factor = std::exp(kInterval * std::sqrt(relative_variance));
  return {mean, mean / factor, mean * factor, determined};
}

/// Variance of ln x, from the interval.
double log_variance(const Figure& f) {
  const double spread = std::log(f.high / f.low) / (2 * kInterval);
  return spread * spread;
}

double class_counts(const AnnotatorPosteriors& p, std::size_t k) {
  double sum = 0;
  const std::size_t J = p.classes.size();
  for (std::size_t n = p.confusion.begin[k] * J; n < p.confusion.begin[k + 1] * J; ++n) sum += p.confusion.value[n];
  return sum;
}

}  // namespace

Figure recall_figure(const AnnotatorPosteriors& p, std::size_t k) {
  const AnnotatorEvidence& e = p.annotators[k];
  const double objects = e.found + e.missed, mean = p.mean_recall(k);
  const double strength = p.recall_prior.a + p.recall_prior.b + objects;
  const double shift = kDoubtfulOdds * ((1 - mean) * e.found_doubt - mean * e.missed_doubt) / strength;
  return share(mean, mean * (1 - mean) / (strength + 1) + shift * shift, p.tells_recall() && objects >= kLeastEvidence);
}

Figure spurious_figure(const AnnotatorPosteriors& p, std::size_t k) {
  const AnnotatorEvidence& e = p.annotators[k];
  const double shape = p.spurious_prior.shape + e.spurious, shift = kDoubtfulOdds * e.found_doubt / shape;
  return positive(p.mean_spurious_per_image(k), 1 / shape + shift * shift,
                  p.tells_recall() && e.judged >= kLeastEvidence);
}

Figure accuracy_figure(const AnnotatorPosteriors& p, std::size_t k) {
  const double mean = p.accuracy(k), count = class_counts(p, k);
  const double strength = p.accuracy_prior.a > 0 ? p.accuracy_prior.a + p.accuracy_prior.b : p.confusion_prior.diagonal;
  // A label that no other stands beside confirms itself. With existence, box errors are counted of shared boxes only.
  const bool compared = !p.tells_recall() || p.annotators[k].box.count >= kLeastEvidence;
  return share(mean, mean * (1 - mean) / (strength + count + 1),
               p.tells_classes() && count >= kLeastEvidence && compared);
}

Figure mixed_up_figure(const AnnotatorPosteriors& p, std::size_t k, std::size_t true_class, std::size_t given_class) {
  const std::size_t J = p.classes.size();
  double shown = 0, all = 0;
  for (std::size_t c = p.confusion.begin[k]; c < p.confusion.begin[k + 1]; ++c)
    shown += p.confusion.value[c * J + true_class];
  for (std::size_t l = 0; l < J; ++l) all += p.alpha(k, true_class, l);
  const double mean = p.alpha(k, true_class, given_class) / all;
  const bool compared = !p.tells_recall() || p.annotators[k].box.count >= kLeastEvidence;
  return share(mean, mean * (1 - mean) / (all + 1), J > 1 && shown >= kLeastEvidence && compared);
}

std::array<Figure, 4> bias_figures(const AnnotatorPosteriors& p, std::size_t k) {
  const BoxPosterior box = p.box(k);
  const double count = p.box_prior.strength + p.annotators[k].box.count;
  std::array<Figure, 4> out;
  for (std::size_t i = 0; i < 4; ++i) {
    const double spread = kInterval * std::sqrt(box.beta[packed(i, i)] / box.upsilon / count);
    out[i] = {box.mean[i], box.mean[i] - spread, box.mean[i] + spread, p.annotators[k].box.count >= kLeastEvidence};
  }
  return out;
}

std::array<Figure, 4> noise_figures(const AnnotatorPosteriors& p, std::size_t k) {
  const BoxPosterior box = p.box(k);
  std::array<Figure, 4> out;
  for (std::size_t i = 0; i < 4; ++i) {
    // The logarithm of a Gamma variable of shape a has variance 1/a; a deviation is the root of a variance.
    out[i] = positive(std::sqrt(box.beta[packed(i, i)] / box.upsilon), 1 / (4 * box.upsilon),
                      p.annotators[k].box.count >= kLeastEvidence);
  }
  return out;
}

Figure box_noise_figure(const AnnotatorPosteriors& p, std::size_t k) {
  return positive(box_noise(p, k), 1 / (16 * p.box(k).upsilon), p.annotators[k].box.count >= kLeastEvidence);
}

Figure quality_figure(const AnnotatorPosteriors& p, std::size_t k) {
  double variance = 0;
  bool determined = true;
  if (p.tells_classes()) {
    const Figure accuracy = accuracy_figure(p, k);
    determined = accuracy.determined;
    variance += accuracy.low > 0 ? log_variance(accuracy) : 0.0;
  }
  if (p.tells_recall()) {
    const Figure recall = recall_figure(p, k), spurious = spurious_figure(p, k);
    determined = determined && recall.determined && spurious.determined;
    variance += recall.low > 0 ? log_variance(recall) : 0.0;
    const double part = spurious.mean / (1 + spurious.mean);
    variance += part * part * log_variance(spurious);
  }
  Figure out = positive(annotator_quality(p, k), variance, determined);
  out.high = std::min(1.0, out.high);
  return out;
}

std::string figure_text(const Figure& f, int decimals) {
  if (!f.determined) return "not known";
  return fixed(f.mean, decimals) + " (" + fixed(f.low, decimals) + "-" + fixed(f.high, decimals) + ")";
}

double box_noise(const AnnotatorPosteriors& posteriors, std::size_t k) {
  double variance = 0;
  for (const double precision : posteriors.box(k).precision()) variance += 1 / precision;
  return std::sqrt(variance / 4);
}

double annotator_quality(const AnnotatorPosteriors& posteriors, std::size_t k) {
  if (!posteriors.tells_recall()) return posteriors.accuracy(k);
  return posteriors.mean_recall(k) * posteriors.accuracy(k) / (1 + posteriors.mean_spurious_per_image(k));
}

}  // namespace bdc
