#include "library/dataset_pictures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

namespace bdc::host {
namespace {

constexpr int kJpegQuality = 72;

class DatasetPictures : public Pictures {
 public:
  DatasetPictures(const CrowdData& crowd, std::shared_ptr<const Dataset> data) : data_(std::move(data)) {
    const auto key = [](const ImageRecord& r) { return (r.id.is_integer ? "i" : "s") + r.id.text; };
    std::map<std::string, std::int64_t> at;
    for (const auto& image : data_->labels().images) at.emplace(key(image), static_cast<std::int64_t>(at.size()));
    for (const auto& image : crowd.images) {
      const auto found = at.find(key(image));
      index_.push_back(found == at.end() ? -1 : found->second);
    }
  }

  [[nodiscard]] std::optional<Size> size(std::size_t image) const override {
    const cv::Mat rgb = pixels(image);
    if (rgb.empty()) return {};
    return Size{static_cast<double>(rgb.cols), static_cast<double>(rgb.rows)};
  }

  [[nodiscard]] std::optional<Part> part(std::size_t image, const Box& region, double width, double height,
                                         int edge) const override {
    const cv::Mat rgb = pixels(image);
    if (rgb.empty() || !(width > 0) || !(height > 0)) return {};
    const double across = rgb.cols / width, down = rgb.rows / height;
    const cv::Rect all(0, 0, rgb.cols, rgb.rows),
        wanted(
            cv::Point(static_cast<int>(std::floor(region.x1 * across)), static_cast<int>(std::floor(region.y1 * down))),
            cv::Point(static_cast<int>(std::ceil(region.x2 * across)), static_cast<int>(std::ceil(region.y2 * down)))),
        shown = wanted & all;
    if (shown.empty()) return {};
    const double scale = std::min(1.0, static_cast<double>(edge) / std::max(shown.width, shown.height));
    cv::Mat small, bgr;
    cv::resize(rgb(shown), small, {}, scale, scale, cv::INTER_AREA);
    cv::cvtColor(small, bgr, cv::COLOR_RGB2BGR);
    std::vector<unsigned char> bytes;
    if (!cv::imencode(".jpg", bgr, bytes, {cv::IMWRITE_JPEG_QUALITY, kJpegQuality})) return {};
    return Part{{shown.x / across, shown.y / down, (shown.x + shown.width) / across, (shown.y + shown.height) / down},
                {bytes.begin(), bytes.end()}};
  }

 private:
  /// Empty when the picture cannot be had.
  [[nodiscard]] cv::Mat pixels(std::size_t image) const {
    const std::int64_t at = index_.at(image);
    if (at < 0) return {};
    try {
      return data_->image(at);
    } catch (const DataError&) {
      return {};
    }
  }

  std::shared_ptr<const Dataset> data_;
  std::vector<std::int64_t> index_;
};

}  // namespace

std::shared_ptr<const Pictures> pictures_of(const CrowdData& crowd, std::shared_ptr<const Dataset> data) {
  return std::make_shared<DatasetPictures>(crowd, std::move(data));
}

}  // namespace bdc::host
