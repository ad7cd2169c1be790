#include "data/pixels.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace bdc::host {
namespace {

/// Shrinking by more than this in the warp would skip pixels.
constexpr double kSmallestWarp = 0.5;

void recolour(cv::Mat& image, const Augmentation& a) {
  cv::Mat hsv, table(1, 256, CV_8UC3);
  const int turn = static_cast<int>(std::lround(a.hue * 180));
  for (int i = 0; i < 256; ++i) {
    table.at<cv::Vec3b>(0, i) = {static_cast<uchar>(((i + turn) % 180 + 180) % 180),
                                 cv::saturate_cast<uchar>(i * a.saturation), cv::saturate_cast<uchar>(i * a.value)};
  }
  cv::cvtColor(image, hsv, cv::COLOR_RGB2HSV);
  cv::LUT(hsv, table, hsv);
  cv::cvtColor(hsv, image, cv::COLOR_HSV2RGB);
}

cv::Mat resized(const cv::Mat& image, int width, int height) {
  if (width == image.cols && height == image.rows) return image;
  cv::Mat out;
  const bool shrinks = width < image.cols || height < image.rows;
  cv::resize(image, out, {width, height}, 0, 0, shrinks ? cv::INTER_AREA : cv::INTER_LINEAR);
  return out;
}

/// The image letterboxed and flipped only: resampled as without augmentation.
cv::Mat letterboxed(const cv::Mat& original, const Augmentation& a, int width, int height) {
  cv::Mat image = resized(original, width, height);
  if (a.flip_x || a.flip_y) {
    cv::Mat flipped;
    cv::flip(image, flipped, a.flip_x && a.flip_y ? -1 : a.flip_x ? 1 : 0);
    image = flipped;
  }
  if (a.recolours()) {
    if (image.data == original.data) image = original.clone();
    recolour(image, a);
  }
  return image;
}

}  // namespace

cv::Mat warp_image(const cv::Mat& original, const AffineMap& to_picture, const Augmentation& a, const cv::Size& size) {
  cv::Mat image = original;
  AffineMap map = to_picture;
  const double scale = std::sqrt(std::abs(map[0] * map[4] - map[1] * map[3]));
  if (scale < kSmallestWarp) {  // average first, and take that out of the map
    const int width = std::max(1, static_cast<int>(std::lround(original.cols * scale))),
              height = std::max(1, static_cast<int>(std::lround(original.rows * scale)));
    image = resized(original, width, height);
    map = compose(
        map, {static_cast<double>(original.cols) / width, 0, 0, 0, static_cast<double>(original.rows) / height, 0});
  }
  if (a.recolours()) {
    if (image.data == original.data) image = original.clone();
    recolour(image, a);
  }
  // OpenCV counts from pixel centres.
  map = compose({1, 0, -0.5, 0, 1, -0.5}, compose(map, {1, 0, 0.5, 0, 1, 0.5}));
  const cv::Mat matrix = (cv::Mat_<double>(2, 3) << map[0], map[1], map[2], map[3], map[4], map[5]);
  cv::Mat out;
  cv::warpAffine(image, out, matrix, size, cv::INTER_LINEAR, cv::BORDER_CONSTANT, cv::Scalar::all(kPadding));
  return out;
}

void write_planes(const cv::Mat& image, std::int64_t input_size, float* planes) {
  const std::int64_t plane = input_size * input_size;
  if (image.cols < input_size || image.rows < input_size) {
    std::fill(planes, planes + 3 * plane, static_cast<float>(kPadding) / 255.0f);
  }
  cv::Mat channels[3];
  cv::split(image, channels);
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < image.rows; ++y) {
      const uchar* row = channels[c].ptr<uchar>(y);
      float* out = planes + c * plane + y * input_size;
      for (int x = 0; x < image.cols; ++x) out[x] = static_cast<float>(row[x]) / 255.0f;
    }
  }
}

Placement place_image(const cv::Mat& image, const Augmentation& a, std::int64_t input_size, float* planes) {
  const int size = static_cast<int>(input_size);
  const double scale = std::min(static_cast<double>(size) / image.cols, static_cast<double>(size) / image.rows);
  const int width = std::clamp(static_cast<int>(std::lround(image.cols * scale)), 1, size);
  const int height = std::clamp(static_cast<int>(std::lround(image.rows * scale)), 1, size);
  Placement out{augmented_map(a, image.cols, image.rows, width, height), width, height};
  if (!a.warps()) {
    write_planes(letterboxed(image, a, width, height), input_size, planes);
    return out;
  }
  write_planes(warp_image(image, out.to_input, a, {size, size}), input_size, planes);
  const Box content = map_box(out.to_input, {0, 0, static_cast<double>(image.cols), static_cast<double>(image.rows)});
  out.content_width = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(content.x2)), 0, input_size);
  out.content_height = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(content.y2)), 0, input_size);
  return out;
}

}  // namespace bdc::host
