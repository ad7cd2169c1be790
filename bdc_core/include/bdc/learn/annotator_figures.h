#pragma once

#include <array>
#include <string>

#include "bdc/learn/annotator_posteriors.h"

/// What can be told of a person: every figure with the interval that holds it with a probability of 90 %, and whether
/// the labels determine it at all. Where they do not, the figure is what was assumed at the start; it must not be shown
/// as the person's, ranked, averaged or grouped.
namespace bdc {

struct Figure {
  double mean = 0, low = 0, high = 0;
  bool determined = false;
};

/// Share of the objects shown that the annotator drew in place: with a box that overlaps what the others drew of it by
/// 0.4 or more. The interval also holds what is not known of the objects themselves: whether a box that hardly anybody
/// else drew is one. Undetermined where no object was shown, and for profiles without recall.
[[nodiscard]] Figure recall_figure(const AnnotatorPosteriors& posteriors, std::size_t k);
/// Boxes drawn where nothing is, per image in which anybody drew something.
[[nodiscard]] Figure spurious_figure(const AnnotatorPosteriors& posteriors, std::size_t k);
/// Share of right classes over the classes that the annotator was shown, as often as they came. Undetermined where
/// nothing was drawn that somebody else drew too, and where there is one class only.
[[nodiscard]] Figure accuracy_figure(const AnnotatorPosteriors& posteriors, std::size_t k);
/// Share of the objects of one class that the annotator gives another one. Undetermined where hardly any object of that
/// class was shown.
[[nodiscard]] Figure mixed_up_figure(const AnnotatorPosteriors& posteriors, std::size_t k, std::size_t true_class,
                                     std::size_t given_class);
/// Means of the four box errors.
[[nodiscard]] std::array<Figure, 4> bias_figures(const AnnotatorPosteriors& posteriors, std::size_t k);
/// Standard deviations of the four box errors.
[[nodiscard]] std::array<Figure, 4> noise_figures(const AnnotatorPosteriors& posteriors, std::size_t k);
/// Typical deviation of a box coordinate (box_noise).
[[nodiscard]] Figure box_noise_figure(const AnnotatorPosteriors& posteriors, std::size_t k);
/// Recall x class accuracy / (1 + spurious boxes per image), without what the profile does not know or what says
/// nothing (class accuracy with one class). Undetermined where one of them is.
[[nodiscard]] Figure quality_figure(const AnnotatorPosteriors& posteriors, std::size_t k);

/// "0.81 (0.78-0.84)"; "not known" when undetermined.
[[nodiscard]] std::string figure_text(const Figure& figure, int decimals = 2);

/// Typical deviation of a box coordinate after the bias is taken out: the root of the mean variance of the four, in the
/// profile's own unit (absence_aware: edges, in box sizes).
[[nodiscard]] double box_noise(const AnnotatorPosteriors& posteriors, std::size_t k);

/// Recall x class accuracy / (1 + spurious boxes per image); the class accuracy where the profile knows no recall.
[[nodiscard]] double annotator_quality(const AnnotatorPosteriors& posteriors, std::size_t k);

}  // namespace bdc
