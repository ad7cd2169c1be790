#include "synth/crops.h"

#include <algorithm>
#include <cmath>

#include "bdc/base/error.h"
#include "bdc/base/shuffle.h"
#include "bdc/crowd/clip_to_image.h"

namespace bdc::host {
namespace {

constexpr std::uint64_t kSplitStream = 11, kBackgroundStream = 12;
constexpr int kAttempts = 60;
constexpr double kShrink = 0.95, kSmallest = 4;

/// The part of a box inside the image; not valid when less than a pixel is left.
Box inside(const Box& b, const ImageRecord& image) {
  const Box out = clip_to_size(b, image.width, image.height);
  return out.width() >= 1 && out.height() >= 1 ? out : Box{};
}

/// Sizes of all objects, as shares of their images.
std::vector<std::pair<double, double>> sizes_of(const CrowdData& truth) {
  std::vector<std::pair<double, double>> out;
  for (const TruthBox& t : truth.truth) {
    const ImageRecord& image = truth.images[static_cast<std::size_t>(t.image)];
    const Box box = inside(t.box, image);
    if (!t.is_crowd && box.valid()) out.emplace_back(box.width() / image.width, box.height() / image.height);
  }
  return out;
}

bool is_free(const Box& box, const CrowdData& truth, std::size_t image) {
  for (std::size_t n = truth.truth_begin[image]; n < truth.truth_begin[image + 1]; ++n) {
    if (intersection(box, truth.truth[n].box) > 0) return false;
  }
  return true;
}

void add_backgrounds(const CrowdData& truth, std::size_t image, const std::vector<std::pair<double, double>>& sizes,
                     const CropSettings& settings, std::vector<Crop>& out) {
  const ImageRecord& record = truth.images[image];
  Random random(settings.seed, kBackgroundStream, image);
  for (std::int64_t n = 0; n < settings.backgrounds; ++n) {
    const auto& size = sizes[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(sizes.size())))];
    double w = size.first * record.width, h = size.second * record.height;
    for (int attempt = 0; attempt < kAttempts; ++attempt, w *= kShrink, h *= kShrink) {
      w = std::min<double>(record.width, std::max(kSmallest, w));
      h = std::min<double>(record.height, std::max(kSmallest, h));
      const double x = random.uniform(0, record.width - w), y = random.uniform(0, record.height - h);
      const Box box = inside({x, y, x + w, y + h}, record);
      if (!box.valid() || !is_free(box, truth, image)) continue;
      out.push_back({static_cast<std::int32_t>(image), box, static_cast<std::int32_t>(truth.classes.size())});
      break;
    }
  }
}

bool has_objects(const std::vector<Crop>& crops, std::size_t background) {
  return std::any_of(crops.begin(), crops.end(),
                     [&](const Crop& c) { return c.label != static_cast<std::int32_t>(background); });
}

}  // namespace

CropSets make_crops(const CrowdData& truth, const CropSettings& settings) {
  const std::size_t images = truth.images.size();
  const auto sizes = sizes_of(truth);
  if (images < 2 || sizes.empty()) {
    throw DataError("networks: expected at least two images with true objects to learn from and to measure on, found " +
                    std::to_string(images) + " images with " + std::to_string(sizes.size()) + " objects");
  }
  const auto order = shuffled(static_cast<std::int64_t>(images), Random(settings.seed, kSplitStream, 0));
  const auto count = static_cast<std::size_t>(std::clamp<double>(
      std::round(settings.held_out * static_cast<double>(images)), 1, static_cast<double>(images - 1)));
  std::vector<char> is_held_out(images, 0);
  for (std::size_t n = 0; n < count; ++n) is_held_out[static_cast<std::size_t>(order[n])] = 1;
  CropSets out;
  for (std::size_t i = 0; i < images; ++i) {
    auto& set = is_held_out[i] ? out.held_out : out.train;
    for (std::size_t n = truth.truth_begin[i]; n < truth.truth_begin[i + 1]; ++n) {
      const Box box = inside(truth.truth[n].box, truth.images[i]);
      if (!truth.truth[n].is_crowd && box.valid()) {
        set.push_back({static_cast<std::int32_t>(i), box, truth.truth[n].label});
      }
    }
    add_backgrounds(truth, i, sizes, settings, set);
  }
  const std::size_t background = truth.classes.size();
  if (!has_objects(out.train, background) || !has_objects(out.held_out, background)) {
    throw DataError("networks: none of the images to " +
                    std::string(has_objects(out.train, background) ? "measure" : "learn") +
                    " on has an object; use more images, or another networks.held_out");
  }
  return out;
}

}  // namespace bdc::host
