// A consensus of your own as a training hook. Before training it looks at what all annotators drew, lets them vote, and
// keeps one box per object; in every step it puts the consensus of the batch's images in place of the targets. It
// trains on exactly what the built-in hook `mv` trains on.
//
//   bdc-host --plugin yolov7 --hook majority

#include <bdc/crowd/grouping.h>
#include <bdc/learn/simple/majority_vote.h>
#include <bdc/plugin/export.h>
#include <bdc/plugin/hook.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace {

namespace api = bdc::plugin;

/// What several annotators drew around one object.
struct Group {
  std::vector<bdc::Box> boxes;  ///< whole pixels
  std::vector<std::int32_t> labels;
};

/// The class that most of the image's annotators see here. Those who drew no box here vote for "nothing", -1, which
/// also wins a tie; of equal classes the smallest wins.
std::int32_t vote(const Group& group, std::size_t voters) {
  std::map<std::int32_t, std::size_t> votes;
  for (const std::int32_t label : group.labels) ++votes[label];
  std::int32_t winner = -1;
  std::size_t most = voters - group.labels.size();
  for (const auto& [label, count] : votes) {
    if (count <= most) continue;
    winner = label;
    most = count;
  }
  return winner;
}

/// The box around the pixels that more than half of the voters drew; the average box where there are none.
bdc::Box one_box(const Group& group, std::size_t voters) {
  auto result = bdc::reduce_group(group.boxes, group.labels, voters, bdc::BoxRule::kMajority);
  if (result.outcome != bdc::VoteOutcome::kBox) {
    result = bdc::reduce_group(group.boxes, group.labels, voters, bdc::BoxRule::kAverage);
  }
  return result.box;
}

/// A box on whole pixels, at least one wide and high.
bdc::Box on_pixels(const bdc::Box& box) {
  bdc::Box out{std::nearbyint(box.x1), std::nearbyint(box.y1), std::nearbyint(box.x2), std::nearbyint(box.y2)};
  out.x2 = std::max(out.x2, out.x1 + 1);
  out.y2 = std::max(out.y2, out.y1 + 1);
  return out;
}

/// Appends the consensus of one image.
void add_image(const bdc::CrowdData& crowd, std::size_t image, double iou, bdc::Targets& out) {
  std::vector<bdc::Box> boxes;
  std::vector<std::int32_t> labels, annotators;
  for (std::size_t a = crowd.annotation_begin[image]; a < crowd.annotation_begin[image + 1]; ++a) {
    boxes.push_back(crowd.annotations[a].box);
    labels.push_back(crowd.annotations[a].label);
    annotators.push_back(crowd.annotations[a].annotator);
  }
  const std::size_t voters = std::set<std::int32_t>(annotators.begin(), annotators.end()).size();
  bdc::Groups groups;
  bdc::group_by_first_overlap(boxes, annotators, iou, groups);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Group group;
    for (const std::int32_t member : groups[g]) {
      group.boxes.push_back(on_pixels(boxes[static_cast<std::size_t>(member)]));
      group.labels.push_back(labels[static_cast<std::size_t>(member)]);
    }
    const std::int32_t label = vote(group, voters);
    if (label < 0) continue;
    const bdc::Box box = one_box(group, voters);
    if (!box.valid()) continue;
    out.box.push_back(box);
    out.hard_label.push_back(label);
    out.weight.push_back(1);
    out.score.push_back(1);
  }
  out.begin.push_back(out.box.size());
}

class Majority : public api::TrainingHook {
 public:
  static api::HookInfo describe() {
    api::HookInfo info;
    info.description = "Example: trains on what most annotators drew";
    info.replaces_targets = true;  // so the host makes none of its own
    info.needs_annotators = true;  // so it refuses labels without any
    info.options = {api::number_option("iou", 0.5, "overlap above which boxes may show the same object", 0.0, 1.0)};
    return info;
  }

  explicit Majority(const api::HookConfig& config) : iou_(config.options.get_number("iou")) {}

  // It depends on the labels alone, so a resumed run makes it again and there is no state to save.
  void before_fit(api::RunContext& run) override {
    consensus_.num_classes = static_cast<int>(run.num_classes);
    consensus_.begin = {0};
    for (std::size_t image = 0; image < run.labels->images.size(); ++image) {
      add_image(*run.labels, image, iou_, consensus_);
    }
    run.metrics["majority/targets"] = static_cast<double>(consensus_.box.size());
    if (consensus_.box.empty()) run.say("warning: hook 'majority': the annotators agree on nothing");
  }

  void before_loss(api::RunContext& run, api::LossContext& step) override {
    bdc::Targets batch;
    for (const api::ImageMeta& meta : step.images->meta) {
      const auto add = [&](std::int64_t image) {
        bdc::append_image(consensus_, static_cast<std::size_t>(image), batch);
      };
      if (meta.tiles.empty()) add(meta.index);
      for (const api::Tile& tile : meta.tiles) add(tile.index);  // a mosaic shows several images
    }
    *step.targets = run.map_targets(batch, *step.images);  // from the images' own frames to the detector's
  }

 private:
  double iou_;
  bdc::Targets consensus_;  ///< of all images, in pixels of the original images
};

}  // namespace

BDC_EXPORT_HOOK(Majority);
