#include "networks/crop_classifier.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <opencv2/imgproc.hpp>

#include "bdc/base/parallel.h"
#include "data/pixels.h"

namespace bdc::host {
namespace {

cv::Mat cut(const cv::Mat& image, const Box& box, int edge) {
  const int x = std::clamp(static_cast<int>(std::floor(box.x1)), 0, image.cols - 1),
            y = std::clamp(static_cast<int>(std::floor(box.y1)), 0, image.rows - 1),
            to_x = std::clamp(static_cast<int>(std::ceil(box.x2)), x + 1, image.cols),
            to_y = std::clamp(static_cast<int>(std::ceil(box.y2)), y + 1, image.rows);
  cv::Mat out;
  const cv::Mat piece = image(cv::Rect(x, y, to_x - x, to_y - y));
  cv::resize(piece, out, {edge, edge}, 0, 0,
             piece.cols > edge || piece.rows > edge ? cv::INTER_AREA : cv::INTER_LINEAR);
  return out;
}

}  // namespace

torch::Tensor load_crops(const Dataset& data, const std::vector<Crop>& crops, const std::vector<std::int64_t>& which,
                         std::int64_t edge, int threads) {
  torch::Tensor out = torch::empty({static_cast<std::int64_t>(which.size()), 3, edge, edge}, torch::kFloat32);
  float* pixels = out.data_ptr<float>();
  parallel_chunks(which.size(), 4, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t n = begin; n < end; ++n) {
      const Crop& crop = crops[static_cast<std::size_t>(which[n])];
      write_planes(cut(data.image(crop.image), crop.box, static_cast<int>(edge)), edge,
                   pixels + static_cast<std::int64_t>(n) * 3 * edge * edge);
    }
  });
  return out;
}

Classifier train_classifier(const Dataset& data, const std::vector<Crop>& crops, const ClassifierSettings& settings,
                            std::uint64_t seed, const torch::Device& device, int threads, const std::string& name,
                            const NetworkProgress& progress) {
  torch::manual_seed(seed);
  const auto outputs = static_cast<std::int64_t>(data.labels().classes.size() + 1);
  Classifier out = make_classifier(settings, outputs);
  if (settings.training.weights.empty()) start_without_residuals(*out.module);
  load_start_weights(*out.module, settings.training, name, progress);
  out.module->to(device);
  fit(
      *out.module, settings.training, static_cast<std::int64_t>(crops.size()), seed, name,
      [&](const std::vector<std::int64_t>& which) {
        std::vector<std::int64_t> labels;
        for (const auto n : which) labels.push_back(crops[static_cast<std::size_t>(n)].label);
        const torch::Tensor pixels = load_crops(data, crops, which, settings.crop, threads).to(device);
        return torch::cross_entropy_loss(out.forward(pixels), torch::tensor(labels, torch::kInt64).to(device));
      },
      progress);
  return out;
}

std::vector<double> count_confusions(const Classifier& classifier, const Dataset& data, const std::vector<Crop>& crops,
                                     const ClassifierSettings& settings, const torch::Device& device, int threads) {
  torch::NoGradGuard no_grad;
  const std::size_t size = data.labels().classes.size() + 1;
  std::vector<double> counts(size * size, 0.0);
  const auto batch = static_cast<std::size_t>(settings.training.batch);
  for (std::size_t from = 0; from < crops.size(); from += batch) {
    std::vector<std::int64_t> which(std::min(batch, crops.size() - from));
    std::iota(which.begin(), which.end(), static_cast<std::int64_t>(from));
    const torch::Tensor pixels = load_crops(data, crops, which, settings.crop, threads).to(device);
    const torch::Tensor given = classifier.forward(pixels).argmax(1).to(torch::kCPU).contiguous();
    for (std::size_t n = 0; n < which.size(); ++n) {
      const auto label = static_cast<std::size_t>(crops[from + n].label);
      counts[label * size + static_cast<std::size_t>(given.data_ptr<std::int64_t>()[n])] += 1;
    }
  }
  return counts;
}

}  // namespace bdc::host
