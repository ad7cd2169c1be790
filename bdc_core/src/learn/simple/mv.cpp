// mv: majority voting. Annotations are grouped by overlap; the group votes for a class; a rule makes one box of its
// boxes. Where no pixel has a majority, or the common part of all boxes is empty, the box is the average instead, and a
// warning counts how often. Weight 1; score: the share of the image's annotators who gave the class.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "bdc/crowd/grouping.h"
#include "bdc/learn/simple/majority_vote.h"
#include "image_method.h"

namespace bdc {
namespace {

struct MvSettings {
  BoxRule rule;
  std::string rule_name;
  double threshold, resolution;
};

class MajorityVote final : public FixedConsensus {
 public:
  explicit MajorityVote(MvSettings settings) : settings_(std::move(settings)) {}

  FitResult fit(const FitInput& input) override {
    std::atomic<std::size_t> no_majority{0}, empty{0}, lost{0};
    FitResult result = aggregate_images(input, [&](std::size_t i, ImageTargets& out) {
      Image image(*input.crowd, i, settings_.resolution);
      Groups groups;
      group_by_first_overlap(image.boxes, image.annotators, settings_.threshold, groups);
      std::vector<Box> boxes;
      std::vector<std::int32_t> labels;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        boxes.clear();
        labels.clear();
        for (const std::int32_t a : groups[g]) {
          boxes.push_back(image.grid_boxes[static_cast<std::size_t>(a)]);
          labels.push_back(image.labels[static_cast<std::size_t>(a)]);
        }
        VoteResult vote = reduce_group(boxes, labels, image.drawers, settings_.rule);
        if (vote.outcome == VoteOutcome::kNoMajority || vote.outcome == VoteOutcome::kEmptyBox) {
          ++(vote.outcome == VoteOutcome::kNoMajority ? no_majority : empty);
          vote = reduce_group(boxes, labels, image.drawers, BoxRule::kAverage);
          if (vote.outcome != VoteOutcome::kBox) ++lost;
        }
        if (vote.outcome != VoteOutcome::kBox) continue;
        const double s = settings_.resolution;
        const auto votes = std::count(labels.begin(), labels.end(), vote.label);
        out.add({vote.box.x1 / s, vote.box.y1 / s, vote.box.x2 / s, vote.box.y2 / s}, vote.label, 1,
                static_cast<double>(votes) / static_cast<double>(image.drawers));
      }
    });
    std::vector<double> counts{static_cast<double>(no_majority), static_cast<double>(empty), static_cast<double>(lost)};
    input.ranks->all_reduce_doubles(counts);
    const auto warn = [&](double count, const std::string& what) {
      if (count > 0) result.warnings.push_back(std::to_string(static_cast<std::size_t>(count)) + what);
    };
    warn(counts[0], " groups have no pixel that more than half of the annotators drew; their box is the average");
    warn(counts[1], " groups have an empty box by the rule \"" + settings_.rule_name + "\"; their box is the average");
    warn(counts[2], " groups were left out because even the average of their boxes is empty");
    return result;
  }

 private:
  struct Image {
    std::vector<Box> boxes, grid_boxes;  ///< as drawn; times the resolution, whole coordinates
    std::vector<std::int32_t> labels, annotators;
    std::size_t drawers = 0;

    Image(const CrowdData& crowd, std::size_t i, double s) {
      for (std::size_t a = crowd.annotation_begin[i]; a < crowd.annotation_begin[i + 1]; ++a) {
        const Annotation& annotation = crowd.annotations[a];
        boxes.push_back(annotation.box);
        const Box& b = annotation.box;
        Box grid{std::nearbyint(b.x1 * s), std::nearbyint(b.y1 * s), std::nearbyint(b.x2 * s),
                 std::nearbyint(b.y2 * s)};
        grid.x2 = std::max(grid.x2, grid.x1 + 1);  // a box thinner than the grid keeps one cell
        grid.y2 = std::max(grid.y2, grid.y1 + 1);
        grid_boxes.push_back(grid);
        labels.push_back(annotation.label);
        annotators.push_back(annotation.annotator);
      }
      std::vector<std::int32_t> distinct = annotators;
      std::sort(distinct.begin(), distinct.end());
      drawers = static_cast<std::size_t>(std::unique(distinct.begin(), distinct.end()) - distinct.begin());
    }
  };

  MvSettings settings_;
};

}  // namespace

LearnerEntry mv_learner() {
  LearnerEntry entry;
  entry.info.name = "mv";
  entry.info.description = "majority voting on groups of overlapping boxes";
  entry.info.options = {
      string_option("box", "majority", "how a group's boxes become one", {"union", "intersect", "average", "majority"}),
      number_option("iou", 0.5, "overlap above which boxes may show the same object", 0, 1),
      number_option("resolution", 1, "grid lines per pixel to which coordinates are rounded; 1: whole pixels", 1e-3,
                    1e6)};
  entry.info.compared_by = "box";
  entry.create = [](const Options& options) {
    const std::string& rule = options.get_string("box");
    const BoxRule box_rule = rule == "union"       ? BoxRule::kUnion
                             : rule == "intersect" ? BoxRule::kIntersect
                             : rule == "average"   ? BoxRule::kAverage
                                                   : BoxRule::kMajority;
    return std::make_unique<MajorityVote>(
        MvSettings{box_rule, rule, options.get_number("iou"), options.get_number("resolution")});
  };
  return entry;
}

}  // namespace bdc
