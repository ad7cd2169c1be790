// laem: localisation-aware expectation maximisation ("Drawing the Same Bounding Box Twice?", GCPR 2023). An object's
// class is the one whose givers' accuracies add up to most. Weight 1; score: that sum divided by the number of
// annotators who looked.
#include <algorithm>

#include "image_method.h"
#include "located_votes.h"

namespace bdc {
namespace {

Box average(Span<const Box> boxes) {
  Box sum;
  for (const Box& b : boxes) sum = {sum.x1 + b.x1, sum.y1 + b.y1, sum.x2 + b.x2, sum.y2 + b.y2};
  const auto n = static_cast<double>(boxes.size());
  return {sum.x1 / n, sum.y1 / n, sum.x2 / n, sum.y2 / n};
}

Box united(Span<const Box> boxes) {
  Box out = boxes[0];
  for (const Box& b : boxes) {
    out = {std::min(out.x1, b.x1), std::min(out.y1, b.y1), std::max(out.x2, b.x2), std::max(out.y2, b.y2)};
  }
  return out;
}

Box common(Span<const Box> boxes) {
  Box out = boxes[0];
  for (const Box& b : boxes) {
    out = {std::max(out.x1, b.x1), std::max(out.y1, b.y1), std::min(out.x2, b.x2), std::min(out.y2, b.y2)};
  }
  return out;
}

class Laem final : public FixedConsensus {
 public:
  using Rule = Box (*)(Span<const Box>);
  Laem(Rule rule, double threshold) : rule_(rule), threshold_(threshold) {}

  FitResult fit(const FitInput& input) override {
    const LocatedVotes votes = locate_votes(input, threshold_);
    const CrowdData& crowd = *input.crowd;
    FitResult result = aggregate_images(input, [&](std::size_t i, ImageTargets& out) {
      const auto looked = static_cast<double>(crowd.assignment_begin[i + 1] - crowd.assignment_begin[i]);
      std::vector<std::pair<std::int32_t, double>> support;
      std::vector<Box> boxes;
      for (const auto& group : votes.groups[i]) {
        support.clear();
        boxes.clear();
        for (const std::size_t a : group) {
          const Annotation& annotation = crowd.annotations[a];
          boxes.push_back(annotation.box);
          auto known = std::find_if(support.begin(), support.end(),
                                    [&](const auto& entry) { return entry.first == annotation.label; });
          if (known == support.end()) known = support.insert(known, {annotation.label, 0.0});
          known->second += votes.skill.accuracy({annotation.annotator, annotation.label});
        }
        const auto best = std::max_element(support.begin(), support.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        out.add(rule_(boxes), best->first, 1, std::min(1.0, best->second / looked));
      }
    });
    if (votes.incomplete > 0) {
      result.warnings.push_back(
          std::to_string(votes.incomplete) +
          " images have too many overlapping boxes to try all ways to put them together; the best "
          "that were found are taken");
    }
    return result;
  }

 private:
  Rule rule_;
  double threshold_;
};

}  // namespace

LearnerEntry laem_learner() {
  LearnerEntry entry;
  entry.info.name = "laem";
  entry.info.description = "localisation-aware expectation maximisation (Dawid and Skene on agreed places)";
  entry.info.options = {
      string_option("box", "average", "how a group's boxes become one", {"union", "intersect", "average"}),
      number_option("iou", 0.5, "share that a group's boxes must have in common of the box around them", 0, 1)};
  entry.info.compared_by = "box";
  entry.create = [](const Options& options) {
    const std::string& rule = options.get_string("box");
    return std::make_unique<Laem>(rule == "union"       ? united
                                  : rule == "intersect" ? common
                                                        : average,
                                  options.get_number("iou"));
  };
  return entry;
}

}  // namespace bdc
