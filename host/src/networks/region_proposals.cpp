#include "networks/region_proposals.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "bdc/base/parallel.h"
#include "bdc/crowd/clip_to_image.h"
#include "data/batch.h"
#include "data/box_map.h"
#include "parts/proposal_network.h"
#include "parts/scene_labels.h"

namespace bdc::host {
namespace {

constexpr std::size_t kImagesAtOnce = 4;

std::vector<parts::ImageSize> contents_of(const plugin::Images& images) {
  std::vector<parts::ImageSize> out;
  for (const auto& meta : images.meta) out.push_back({meta.content_height, meta.content_width});
  return out;
}

/// A box of the input in pixels of the image, to hundredths. Not valid when less than a pixel is left of it.
Box in_image(const plugin::ImageMeta& meta, const float* xyxy) {
  const Box b = clip_to_size(unmap_box(meta.to_input.m, {xyxy[0], xyxy[1], xyxy[2], xyxy[3]}),
                             static_cast<double>(meta.original_width), static_cast<double>(meta.original_height));
  const auto hundredths = [](double at) { return std::round(at * 100) / 100; };
  const Box out{hundredths(b.x1), hundredths(b.y1), hundredths(b.x2), hundredths(b.y2)};
  return out.width() >= 1 && out.height() >= 1 ? out : Box{};
}

std::vector<ImageProposals::One> collect(const parts::Proposals& proposals, const plugin::ImageMeta& meta) {
  const auto plain = [](const torch::Tensor& t) { return t.to(torch::kCPU, torch::kFloat32).contiguous(); };
  const torch::Tensor boxes = plain(proposals.boxes), objectness = plain(proposals.logits.sigmoid());
  std::vector<ImageProposals::One> out;
  for (std::int64_t n = 0; n < boxes.size(0); ++n) {
    const Box box = in_image(meta, boxes.data_ptr<float>() + 4 * n);
    if (box.valid()) out.push_back({box, objectness.data_ptr<float>()[n]});
  }
  return out;
}

}  // namespace

std::shared_ptr<parts::ProposalNetwork> make_proposal_network(const ProposalSettings& settings) {
  parts::ProposalNetworkOptions options;
  options.backbone = {settings.backbone, settings.width, parts::norm_kind(settings.norm), 1e-5};
  options.trainable_layers = settings.norm == "frozen" ? 3 : 5;
  options.pyramid_channels = settings.pyramid;
  options.anchors.sizes.clear();
  for (int level = 0; level < 5; ++level) options.anchors.sizes.push_back({settings.anchor * (1 << level)});
  return std::make_shared<parts::ProposalNetwork>(options);
}

std::shared_ptr<parts::ProposalNetwork> train_proposal_network(const Dataset& data, const ProposalSettings& settings,
                                                               std::uint64_t seed, const torch::Device& device,
                                                               int threads, const std::string& name,
                                                               const NetworkProgress& progress) {
  torch::manual_seed(seed);
  const auto network = make_proposal_network(settings);
  if (settings.training.weights.empty()) start_without_residuals(*network);
  load_start_weights(*network, settings.training, name, progress);
  network->to(device);
  parts::RpnLossOptions options;
  options.sampler.per_image = settings.sample;
  BatchSettings loading;
  loading.augment.flip_x = 0.5;
  loading.seed = seed;
  loading.threads = threads;
  fit(
      *network, settings.training, data.size(), seed, name,
      [&](const std::vector<std::int64_t>& which) {
        const Batch batch = make_batch(data, which, settings.input, loading);
        ++loading.epoch;  // so that an image is mirrored anew
        const auto scene = network->forward(batch.images.pixels.to(device), contents_of(batch.images));
        const parts::Labels labels =
            parts::labels_of(*scene, batch.targets.boxes.to(device), batch.targets.image_index.to(device), {});
        const auto sample = parts::sample_anchors(scene->rpn, labels.boxes, labels.begin, options);
        const auto loss = parts::rpn_loss(scene->rpn, sample, labels.boxes, {}, options);
        return loss.objectness + loss.boxes;
      },
      progress);
  return network;
}

std::shared_ptr<const ImageProposals> propose_everywhere(parts::ProposalNetwork& network, const Dataset& data,
                                                         const ProposeSettings& settings, const torch::Device& device,
                                                         const std::string& name, const NetworkProgress& progress) {
  network.eval();
  parts::ProposalOptions limits;
  limits.after_suppression = settings.most;
  limits.nms_iou = settings.nms;
  const auto count = static_cast<std::size_t>(data.size());
  std::vector<std::vector<ImageProposals::One>> found(count);
  std::mutex mutex;
  std::size_t done = 0;
  // Images in parallel and one thread inside each: sums are in the same order for any number of threads.
  const int before = torch::get_num_threads();
  parallel_chunks(count, kImagesAtOnce, device.is_cpu() ? settings.threads : 1,
                  [&](std::size_t begin, std::size_t end, std::size_t) {
                    torch::NoGradGuard no_grad;
                    torch::set_num_threads(1);
                    std::vector<std::int64_t> which(end - begin);
                    std::iota(which.begin(), which.end(), static_cast<std::int64_t>(begin));
                    BatchSettings loading;
                    loading.threads = 1;
                    const Batch batch = make_batch(data, which, settings.input, loading);
                    const auto scene = network.forward(batch.images.pixels.to(device), contents_of(batch.images));
                    const auto proposals = parts::propose(scene->rpn, scene->sizes, limits);
                    for (std::size_t b = 0; b < proposals.size(); ++b) {
                      const auto& meta = batch.images.meta[b];
                      found[static_cast<std::size_t>(meta.index)] = collect(proposals[b], meta);
                    }
                    const std::lock_guard lock(mutex);
                    done += end - begin;
                    progress.show(name + ": proposals in image " + std::to_string(done) + "/" + std::to_string(count));
                  });
  torch::set_num_threads(before);
  auto out = std::make_shared<ImageProposals>();
  for (const auto& image : found) out->add_image(image);
  return out;
}

}  // namespace bdc::host
