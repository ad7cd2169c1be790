#include "bdc_runner.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "bdc/base/error.h"
#include "bdc/base/parallel.h"
#include "bdc/crowd/grouping.h"
#include "bdc/learn/simple/group_consensus.h"
#include "crowd/image_scale.h"

namespace bdc {
namespace {

constexpr std::size_t kImagesPerChunk = 64;

/// Scores of a stand-in for classes other than the group's own, which has 1: group_consensus with noise at its mean,
/// 1/2. (The original draws the noise anew in every step; its mean makes the result repeatable.)
constexpr double kOtherClasses = 0.5 / 1.5;

/// Predictions of every image: the detector's, or stand-ins from groups, of which box and class are kept.
class PredictionSource {
 public:
  PredictionSource(const FitInput& input, double group_iou) : input_(input) {
    const CrowdData& crowd = *input.crowd;
    const std::size_t images = crowd.images.size();
    std::vector<std::vector<Box>> boxes(images / kImagesPerChunk + 1);
    std::vector<std::vector<std::int32_t>> labels(boxes.size());
    std::vector<std::int32_t> count(images, 0);
    parallel_chunks(images, kImagesPerChunk, input.threads, [&](std::size_t first, std::size_t end, std::size_t chunk) {
      for (std::size_t i = first; i < end; ++i) {
        if (detected(i) > 0 || crowd.annotation_begin[i] == crowd.annotation_begin[i + 1]) continue;
        group_image(i, group_iou, boxes[chunk], labels[chunk], count[i]);
      }
    });
    begin_.assign(1, 0);
    for (const std::int32_t n : count) begin_.push_back(begin_.back() + static_cast<std::size_t>(n));
    box_.reserve(begin_.back());
    label_.reserve(begin_.back());
    for (std::size_t c = 0; c < boxes.size(); ++c) {
      box_.insert(box_.end(), boxes[c].begin(), boxes[c].end());
      label_.insert(label_.end(), labels[c].begin(), labels[c].end());
    }
  }

  [[nodiscard]] std::size_t count(std::size_t i) const {
    const std::size_t n = detected(i);
    return n > 0 ? n : begin_[i + 1] - begin_[i];
  }
  [[nodiscard]] bool stands_in(std::size_t i) const { return detected(i) == 0 && begin_[i + 1] > begin_[i]; }

  /// scores: a buffer of the calling thread.
  [[nodiscard]] ImagePredictions of(std::size_t i, std::vector<double>& scores) const {
    const std::size_t J = input_.crowd->classes.size(), n = detected(i);
    if (n > 0) {
      const Predictions& p = *input_.predictions;
      return {{p.box.data() + p.begin[i], n}, p.class_probs.data() + p.begin[i] * J};
    }
    const std::size_t groups = begin_[i + 1] - begin_[i];
    scores.assign(groups * J, kOtherClasses);
    for (std::size_t g = 0; g < groups; ++g) scores[g * J + static_cast<std::size_t>(label_[begin_[i] + g])] = 1;
    return {{box_.data() + begin_[i], groups}, scores.data()};
  }

 private:
  [[nodiscard]] std::size_t detected(std::size_t i) const {
    return input_.predictions == nullptr ? 0 : input_.predictions->begin[i + 1] - input_.predictions->begin[i];
  }

  void group_image(std::size_t i, double group_iou, std::vector<Box>& boxes_out, std::vector<std::int32_t>& labels_out,
                   std::int32_t& count) const {
    const CrowdData& crowd = *input_.crowd;
    const ImageScale scale = image_scale(crowd, i);
    std::vector<Box> boxes, mean;
    std::vector<std::int32_t> labels, annotators;
    for (std::size_t a = crowd.annotation_begin[i]; a < crowd.annotation_begin[i + 1]; ++a) {
      boxes.push_back(normalised(crowd.annotations[a].box, scale));
      labels.push_back(crowd.annotations[a].label);
      annotators.push_back(crowd.annotations[a].annotator);
    }
    Groups groups;
    group_by_best_overlap(boxes, annotators, group_iou, groups);
    const std::size_t J = crowd.classes.size();
    std::vector<double> scores;
    group_consensus(groups, boxes, labels, J, nullptr, mean, scores);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      boxes_out.push_back(scaled(mean[g], scale));
      const auto first = scores.begin() + static_cast<std::ptrdiff_t>(g * J);
      labels_out.push_back(
          static_cast<std::int32_t>(std::max_element(first, first + static_cast<std::ptrdiff_t>(J)) - first));
    }
    count = static_cast<std::int32_t>(groups.size());
  }

  const FitInput& input_;
  std::vector<Box> box_;             ///< pixels
  std::vector<std::int32_t> label_;  ///< class of the group
  std::vector<std::size_t> begin_;
};

void check_prior(const AnnotatorPosteriors& prior, const char* profile, const BdcParameters& parameters) {
  require_profile(prior, profile);
  if (prior.box_prior.mean != parameters.box.mean) {
    throw DataError(
        (prior.source.empty() ? "the prior" : prior.source) +
        ": /priors/box/mean: expected the mean of this run's settings, found another; use the same settings");
  }
}

}  // namespace

FitResult run_bdc(const FitInput& input, const char* profile, const BdcParameters& parameters,
                  const BdcRunOptions& options, const MakeModel& make_model) {
  check_input(input);
  if (input.prior != nullptr) check_prior(*input.prior, profile, parameters);
  const CrowdData& crowd = *input.crowd;
  const std::size_t images = crowd.images.size();
  const PredictionSource source(input, options.group_iou);
  std::vector<std::int32_t> room(images);
  std::size_t stand_ins = 0;
  for (std::size_t i = 0; i < images; ++i) {
    room[i] = static_cast<std::int32_t>(source.count(i));
    stand_ins += source.stands_in(i);
  }
  const std::unique_ptr<BdcModel> model = make_model(crowd, input.prior, room);

  FitResult result;
  result.converged = false;
  double last_bound = 0;
  while (result.rounds < options.max_rounds && !result.converged) {
    const bool first = result.rounds == 0;
    parallel_chunks(images, kImagesPerChunk, input.threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      BdcModel::Workspace workspace;
      std::vector<double> scores;
      for (std::size_t i = begin; i < end; ++i) {
        if (crowd.annotation_begin[i] == crowd.annotation_begin[i + 1]) continue;
        const ImagePredictions predictions = source.of(i, scores);
        if (first) {
          model->aggregate_image(i, predictions, workspace);
        } else {
          model->reaggregate_image(i, predictions, workspace);  // same predictions, hence the same matches
        }
      }
    });
    const BdcUpdate update = model->update(input.threads);
    ++result.rounds;
    const double bound_change = std::abs(update.bound - last_bound) / std::max(1.0, std::abs(update.bound));
    const double change = std::max({first ? 1.0 : bound_change, update.box_change, update.confusion_change});
    result.converged = change < options.tolerance;
    result.bound.push_back(update.bound);
    last_bound = update.bound;
    if (input.progress) {
      Progress progress;
      progress.round = result.rounds;
      progress.max_rounds = options.max_rounds;
      progress.bound = update.bound;
      progress.change = change;
      progress.images_done = progress.images = images;
      input.progress(progress);
    }
  }
  result.posteriors = model->release_posteriors(profile, input.threads);
  result.targets = model->release_targets();
  if (!result.converged) {
    result.warnings.push_back("stopped after " + std::to_string(result.rounds) +
                              " rounds before the posteriors had settled; raise max_rounds or tolerance");
  }
  if (input.predictions != nullptr && stand_ins > 0) {
    result.warnings.push_back(std::to_string(stand_ins) +
                              " annotated images have no predictions; groups of their annotations stand in");
  }
  return result;
}

}  // namespace bdc
