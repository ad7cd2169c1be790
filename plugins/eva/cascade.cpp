#include "eva/cascade.h"

namespace eva {
namespace {

/// The boxes a stage makes of its regions, per image, inside the image.
std::vector<Tensor> next_boxes(std::size_t stage, const Tensor& boxes, const Tensor& deltas,
                               const std::vector<std::int64_t>& begin, const std::vector<parts::ImageSize>& images) {
  torch::NoGradGuard no_grad;
  const Tensor all = stage_coder(stage).decode(deltas.detach(), boxes).squeeze(1);
  std::vector<Tensor> out;
  for (std::size_t b = 0; b < images.size(); ++b) {
    out.push_back(parts::clip_to_image(all.slice(0, begin[b], begin[b + 1]), images[b]));
  }
  return out;
}

/// Those with an area.
Tensor not_empty(const Tensor& boxes) {
  const Tensor size = boxes.slice(1, 2) - boxes.slice(1, 0, 2);
  return boxes.index_select(0, (size > 0).all(1).nonzero().squeeze(1));
}

}  // namespace

std::vector<TrainedStage> training_stages(Network& network, const Features& features,
                                          const std::vector<Tensor>& proposals, const Tensor& targets,
                                          const std::vector<std::int64_t>& begin,
                                          const parts::RegionOptions& sampling) {
  std::vector<TrainedStage> out;
  for (std::size_t s = 0; s < kStages; ++s) {
    TrainedStage stage;
    if (s == 0) {
      stage.regions = parts::sample_regions(proposals, targets, begin, sampling);
    } else {
      const TrainedStage& before = out.back();
      auto boxes = next_boxes(s - 1, before.regions.boxes, before.scores.deltas, before.regions.begin, features.images);
      for (Tensor& b : boxes) b = not_empty(b);
      stage.regions = parts::match_regions(boxes, targets, begin, {kStageIou[s], kStageIou[s], false});
    }
    stage.scores = network.run_stage(s, features, stage.regions.boxes, stage.regions.image(), /*in_training=*/true);
    out.push_back(std::move(stage));
  }
  return out;
}

Tensor Verdict::mean_probs() const {
  Tensor sum = logits.at(0).softmax(1);
  for (std::size_t s = 1; s < logits.size(); ++s) sum = sum + logits[s].softmax(1);
  return sum * (1.0 / static_cast<double>(logits.size()));
}

Verdict judge(Network& network, const Features& features, const std::vector<Tensor>& proposals) {
  torch::NoGradGuard no_grad;
  Verdict out;
  std::vector<Tensor> image;
  out.begin.push_back(0);
  for (std::size_t b = 0; b < proposals.size(); ++b) {
    const std::int64_t n = proposals[b].size(0);
    out.begin.push_back(out.begin.back() + n);
    image.push_back(torch::full({n}, static_cast<std::int64_t>(b), proposals[b].options().dtype(torch::kInt64)));
  }
  const Tensor owner = torch::cat(image);
  out.boxes = torch::cat(proposals);
  for (std::size_t s = 0; s < kStages; ++s) {
    const StageScores scores = network.run_stage(s, features, out.boxes, owner, /*in_training=*/false);
    out.logits.push_back(scores.logits);
    out.boxes = torch::cat(next_boxes(s, out.boxes, scores.deltas, out.begin, features.images));
  }
  return out;
}

}  // namespace eva
