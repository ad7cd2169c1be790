#include "engine/run_pictures.h"

#include <torch/nn.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bdc/base/table.h"
#include "files/metrics_log.h"
#include "pictures/picture.h"
#include "pictures/plot.h"

namespace bdc::host {
namespace {

cv::Mat to_picture(const torch::Tensor& pixels) {
  const torch::Tensor bytes =
      (pixels.detach().to(torch::kCPU).clamp(0, 1) * 255).round().to(torch::kUInt8).permute({1, 2, 0}).contiguous();
  return cv::Mat(static_cast<int>(bytes.size(0)), static_cast<int>(bytes.size(1)), CV_8UC3, bytes.data_ptr()).clone();
}

PlotLine line_of(const std::vector<Json>& records, const std::string& key, const std::string& name) {
  LoggedNumber logged = logged_number(records, key);
  return {name, std::move(logged.epoch), std::move(logged.value), {}};
}

/// Whether the lines after the first sum to it, in the latest epoch. True of a line without parts.
bool adds_up(const std::vector<PlotLine>& lines) {
  if (lines.size() < 2 || lines[0].y.empty()) return true;
  double sum = 0;
  for (std::size_t n = 1; n < lines.size(); ++n) sum += lines[n].y.empty() ? 0 : lines[n].y.back();
  return std::abs(sum - lines[0].y.back()) <= 0.01 * std::abs(lines[0].y.back()) + 1e-6;
}

}  // namespace

void write_batch_picture(const std::filesystem::path& path, const Batch& batch,
                         const std::vector<std::string>& class_names) {
  constexpr std::int64_t kMost = 16;
  const auto& t = batch.targets;
  const torch::Tensor boxes = t.boxes.to(torch::kCPU, torch::kFloat64).contiguous(),
                      probs = t.class_probs.to(torch::kCPU, torch::kFloat64).contiguous(),
                      weights = t.weights.to(torch::kCPU, torch::kFloat64).contiguous(),
                      index = t.image_index.to(torch::kCPU).contiguous();
  const std::int64_t shown = std::min(kMost, batch.size());
  std::vector<cv::Mat> pictures;
  std::vector<std::vector<DrawnBox>> drawn(static_cast<std::size_t>(shown));
  std::vector<std::string> titles;
  const int factor = batch.size() > 0 ? enlargement(to_picture(batch.images.pixels[0])) : 1;
  for (std::int64_t n = 0; n < t.size(); ++n) {
    const auto b = index.data_ptr<std::int64_t>()[n];
    if (b >= shown) continue;
    const double* box = boxes.data_ptr<double>() + 4 * n;
    const double* row = probs.data_ptr<double>() + probs.size(1) * n;
    const auto label = static_cast<std::size_t>(std::max_element(row, row + probs.size(1)) - row);
    const double weight = weights.data_ptr<double>()[n];
    const double f = factor;
    drawn[static_cast<std::size_t>(b)].push_back(
        {{box[0] * f, box[1] * f, box[2] * f, box[3] * f},
         label,
         class_names[label] + " " + fixed(row[label], 2) + (weight < 0.995 ? " w " + fixed(weight, 2) : ""),
         weight});
  }
  for (std::int64_t b = 0; b < shown; ++b) {
    cv::Mat picture = enlarged(to_picture(batch.images.pixels[b]), factor);
    draw_boxes(picture, drawn[static_cast<std::size_t>(b)]);
    pictures.push_back(picture);
    titles.push_back("image " + std::to_string(batch.images.meta[static_cast<std::size_t>(b)].index));
  }
  write_picture(path, picture_sheet(pictures, titles, 4));
}

void write_learning_curve(const std::filesystem::path& path, const std::vector<Json>& records) {
  Plot loss{"training loss", "epoch", "loss", {line_of(records, "train/loss", "total")}, {}, true};
  Plot ap{"average precision", "epoch", "AP", {}, std::make_pair(0.0, 1.0), true};
  ap.lines = {line_of(records, "test/AP50", "test AP50"), line_of(records, "test/AP", "test AP")};
  std::map<std::string, bool> seen;
  for (const Json& record : records) {
    for (const auto& [key, value] : record.items()) {
      const auto slash = key.find('/');
      const std::string part = key.substr(0, slash), what = slash == std::string::npos ? "" : key.substr(slash + 1);
      if (part == "train" && what != "loss" && what != "learning_rate" && what != "images_per_second" && !seen[key]) {
        loss.lines.push_back(line_of(records, key, what));
      } else if (what == "AP" && part != "test" && !seen[key]) {
        ap.lines.push_back(line_of(records, key, part + " labels AP"));
      }
      seen[key] = true;
    }
  }
  for (Plot* plot : {&loss, &ap}) {
    auto& lines = plot->lines;
    lines.erase(std::remove_if(lines.begin(), lines.end(), [](const PlotLine& line) { return line.x.empty(); }),
                lines.end());
  }
  if (!adds_up(loss.lines)) loss.title += " (each part has its own scale)";
  write_picture(path, draw_plots({loss, ap}));
}

void write_precision_recall(const std::filesystem::path& path, const CocoEvalResult& evaluation,
                            const std::vector<std::string>& class_names) {
  constexpr std::size_t kMostClasses = 10;
  Plot plot{"precision and recall, IoU 0.5", "recall", "precision", {}, std::make_pair(0.0, 1.0)};
  PlotLine mean{"all classes", {}, std::vector<double>(101, 0.0), {}};
  for (int r = 0; r <= 100; ++r) mean.x.push_back(r / 100.0);
  double classes = 0;
  for (const auto& curve : evaluation.curves) {
    if (curve.iou != 0.5 || curve.precision[0] < 0) continue;
    classes += 1;
    for (std::size_t r = 0; r <= 100; ++r) mean.y[r] += curve.precision[r];
    if (plot.lines.size() < kMostClasses) {
      const auto label = static_cast<std::size_t>(curve.label);
      plot.lines.push_back({class_names[label], mean.x, {curve.precision.begin(), curve.precision.end()}, label});
    }
  }
  if (classes == 0) return;
  for (double& p : mean.y) p /= classes;
  plot.lines.insert(plot.lines.begin(), std::move(mean));
  write_picture(path, draw_plots({plot}));
}

}  // namespace bdc::host
