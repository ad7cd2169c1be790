#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/learn/bdc/box_error.h"
#include "bdc/learn/bdc/confusion.h"
#include "bdc/learn/dependence.h"

namespace bdc {

struct BetaPrior {
  double a = 1, b = 1;
};

struct GammaPrior {
  double shape = 1, rate = 1;
};

/// What has been counted of one annotator. All numbers are sums (expected counts may be fractions), so two of them add.
struct AnnotatorEvidence {
  ExternalId id;
  std::string name;
  double images = 0;       ///< images the annotator saw
  double judged = 0;       ///< of these, images that tell objects from inventions; what spurious is counted over
  double annotations = 0;  ///< boxes drawn
  BoxErrorSums box;        ///< errors of the boxes that were tied to an object
  double found = 0;        ///< objects that were there and drawn
  double loose = 0;        ///< of these, objects drawn with a box that overlaps what the others drew by less than 0.4
  double missed = 0;       ///< objects that were there and not drawn
  double spurious = 0;     ///< boxes drawn where nothing was
  /// How much found and missed hang on boxes that may be objects or not: sums of probability x (1 - probability).
  double found_doubt = 0, missed_doubt = 0;
};

/// What we believe of every annotator: priors, and the evidence of one project (or, merged, of several) that turns them
/// into posteriors. What a project was given as its prior is not in its evidence, so every file may be merged with
/// every other, and none is counted twice. Because the models are conjugate, a file used as the next project's prior is
/// the same as adding its evidence there. Which profile wrote it matters: the profiles define a box error differently.
struct AnnotatorPosteriors {
  std::string source;   ///< the file it was read from, for messages; empty: none
  std::string profile;  ///< the name of the learner that wrote it; learner_traits tells what that knows
  BoxPrior box_prior;
  std::array<double, 4> box_mean_limit{};  ///< means are clipped to +- this; 0: no limit
  ConfusionPrior confusion_prior;
  BetaPrior recall_prior;          ///< of the share of objects drawn in place; fitted, see fit_recall_prior
  GammaPrior spurious_prior;       ///< spurious boxes per image
  BetaPrior accuracy_prior{0, 0};  ///< of the share of right classes over all classes; 0: row by row, confusion_prior

  std::vector<ClassRecord> classes;
  std::vector<AnnotatorEvidence> annotators;
  ConfusionColumns confusion;  ///< expected counts per (annotator, true class, given class), prior not included
  std::vector<Dependence::Pair> alike;  ///< who errs alike, of one project: no sums, so a merge leaves them out

  // What the learner's traits say that it tells of people; figures of the rest mean nothing.
  [[nodiscard]] bool tells_recall() const;   ///< found, missed and spurious
  [[nodiscard]] bool tells_classes() const;  ///< confusions, of two classes or more
  [[nodiscard]] bool tells_boxes() const;

  // Inspection. k is an index into annotators.
  [[nodiscard]] BoxPosterior box(std::size_t k) const;
  /// alpha_jl: prior plus counts.
  [[nodiscard]] double alpha(std::size_t k, std::size_t true_class, std::size_t given_class) const;
  /// Probability that a box of a true class j, drawn at random from the classes in proportion to how often the
  /// annotator met them, is given class j; with no evidence, the prior's share. 1 with one class.
  [[nodiscard]] double accuracy(std::size_t k) const;
  /// Of objects that are there, those drawn in place: see AnnotatorEvidence::loose.
  [[nodiscard]] double mean_recall(std::size_t k) const;
  /// Of objects that are there, those drawn, in place or not. Judged by the counts alone: Beta(1, 1).
  [[nodiscard]] double drawn_share(std::size_t k) const;
  [[nodiscard]] double mean_spurious_per_image(std::size_t k) const;

  /// The annotator's index by id, or npos.
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  [[nodiscard]] std::size_t find(const ExternalId& id) const;
};

/// Evidence of both: sums of images, boxes, box errors, found, missed and spurious, and of confusion counts. Annotators
/// are united by id (a's first, then those of b alone; the first name that is not empty stays), classes by name (a
/// class that one side does not have gets no counts from it). The priors are settings, not evidence: they stay as they
/// are, and like the profile they must be equal. Throws DataError, naming both sources, otherwise.
[[nodiscard]] AnnotatorPosteriors merge(const AnnotatorPosteriors& a, const AnnotatorPosteriors& b);

/// Sets the recall prior to what the annotators are like: mean and spread of their recall, by moments. A person with
/// few objects is judged by their colleagues as well. Beta(1, 1) where fewer than three people were shown anything.
void fit_recall_prior(AnnotatorPosteriors& posteriors);

/// The priors of the figures about a person, the same for every crowd: weak, so that a figure is what was counted.
void set_figure_priors(AnnotatorPosteriors& posteriors);

/// Throws DataError, naming the source, unless the profile is this one.
void require_profile(const AnnotatorPosteriors& prior, const std::string& profile);

/// How aligned_with found the annotators of a crowd.
struct Alignment {
  std::size_t matched = 0;  ///< annotators of the crowd that the posteriors know
  bool by_name = false;     ///< ids meant other people, so that names decided
};

/// The same posteriors with annotators and classes in the order of `crowd`: annotators by id (those not in the crowd
/// are dropped, new ones have no evidence), classes by name. Where an id has one name here and another there, the names
/// decide, provided that they find every annotator of the crowd. Throws DataError, naming the source, when they do not,
/// and when a class with counts is not in the crowd. how: may be null.
[[nodiscard]] AnnotatorPosteriors aligned_with(const AnnotatorPosteriors& posteriors, const CrowdData& crowd,
                                               Alignment* how = nullptr);

/// Versioned JSON ("format": "bdc_annotators", "version": 2), with every figure of annotator_figures.h as a summary.
/// Expected confusion counts below one millionth are left out. Version 1 is read as well.
void write_annotator_posteriors(std::ostream& out, const AnnotatorPosteriors& posteriors);

/// Throws DataError with `source` (a file's name), the JSON path of what is wrong, what was expected and what was
/// found.
[[nodiscard]] AnnotatorPosteriors read_annotator_posteriors(std::istream& in, const std::string& source);
/// The same from a file; throws DataError with the reason when it cannot be opened.
[[nodiscard]] AnnotatorPosteriors read_annotator_posteriors(const std::string& file);

}  // namespace bdc
