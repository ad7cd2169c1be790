#include "pictures/picture.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "bdc/base/atomic_file.h"
#include "bdc/base/user_error.h"
#include "files/json_file.h"
#include "files/outputs.h"

namespace bdc::host {
namespace {

constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr double kTextSize = 0.42;
constexpr int kTitleHeight = 20, kGap = 6, kReadableEdge = 320;

const cv::Scalar kPalette[] = {{230, 159, 0}, {86, 180, 233}, {0, 158, 115},   {240, 228, 66},
                               {0, 114, 178}, {213, 94, 0},   {204, 121, 167}, {120, 220, 60}};

bool is_dark(const cv::Scalar& c) {
  return 0.3 * c[0] + 0.59 * c[1] + 0.11 * c[2] < 140;
}

void draw_caption(cv::Mat& picture, const std::string& text, int x, int top, const cv::Scalar& colour) {
  int baseline = 0;
  const cv::Size size = cv::getTextSize(text, kFont, kTextSize, 1, &baseline);
  const int height = size.height + baseline + 2, width = size.width + 4;
  x = std::clamp(x, 0, std::max(0, picture.cols - width));
  const int y = std::clamp(top - height, 0, std::max(0, picture.rows - height));
  cv::rectangle(picture, {x, y}, {x + width, y + height}, colour, cv::FILLED);
  cv::putText(picture, text, {x + 2, y + size.height + 2}, kFont, kTextSize,
              is_dark(colour) ? cv::Scalar(255, 255, 255) : cv::Scalar(0, 0, 0), 1, cv::LINE_AA);
}

}  // namespace

cv::Scalar class_colour(std::size_t label) {
  return kPalette[label % std::size(kPalette)];
}

void draw_boxes(cv::Mat& picture, const std::vector<DrawnBox>& boxes) {
  const auto pixel = [](double v) { return static_cast<int>(std::lround(std::clamp(v, -1e6, 1e6))); };
  for (const DrawnBox& b : boxes) {
    const cv::Scalar colour = class_colour(b.label);
    const cv::Point from(pixel(b.box.x1), pixel(b.box.y1)), to(pixel(b.box.x2) - 1, pixel(b.box.y2) - 1);
    if (b.strength >= 0.5) {
      cv::rectangle(picture, from, to, {0, 0, 0}, 4);
      cv::rectangle(picture, from, to, colour, 2);
    } else {
      cv::rectangle(picture, from, to, colour, 1);
    }
  }
  for (const DrawnBox& b : boxes) {
    if (!b.caption.empty()) draw_caption(picture, b.caption, pixel(b.box.x1), pixel(b.box.y1), class_colour(b.label));
  }
}

int enlargement(const cv::Mat& picture) {
  const int edge = std::max({picture.cols, picture.rows, 1});
  return std::max(1, kReadableEdge / edge);
}

cv::Mat enlarged(const cv::Mat& picture, int factor) {
  if (factor == 1) return picture.clone();
  cv::Mat out;
  cv::resize(picture, out, {}, factor, factor, cv::INTER_NEAREST);
  return out;
}

cv::Mat picture_sheet(const std::vector<cv::Mat>& pictures, const std::vector<std::string>& titles, int columns) {
  if (pictures.empty()) return cv::Mat(kTitleHeight, 200, CV_8UC3, cv::Scalar(255, 255, 255));
  int width = 0, height = 0;
  for (const cv::Mat& p : pictures) {
    width = std::max(width, p.cols);
    height = std::max(height, p.rows);
  }
  const int count = static_cast<int>(pictures.size()), rows = (count + columns - 1) / columns;
  columns = std::min(columns, count);
  cv::Mat sheet(kGap + rows * (height + kTitleHeight + kGap), kGap + columns * (width + kGap), CV_8UC3,
                cv::Scalar(255, 255, 255));
  for (int n = 0; n < count; ++n) {
    const int x = kGap + n % columns * (width + kGap), y = kGap + n / columns * (height + kTitleHeight + kGap);
    const cv::Mat& p = pictures[static_cast<std::size_t>(n)];
    if (static_cast<std::size_t>(n) < titles.size()) {
      cv::putText(sheet, titles[static_cast<std::size_t>(n)], {x, y + kTitleHeight - 6}, kFont, kTextSize, {40, 40, 40},
                  1, cv::LINE_AA);
    }
    p.copyTo(sheet(cv::Rect(x, y + kTitleHeight, p.cols, p.rows)));
  }
  return sheet;
}

void check_picture_file(const std::filesystem::path& path) {
  check_output_folder(path.string());
  if (!path.has_extension() || !cv::haveImageWriter(path.string())) {
    throw UserError(ExitCode::failure, path.string() + ": this kind of picture cannot be written; use .png or .jpg");
  }
}

void write_picture(const std::filesystem::path& path, const cv::Mat& picture) {
  cv::Mat bgr;
  cv::cvtColor(picture, bgr, cv::COLOR_RGB2BGR);
  std::vector<unsigned char> bytes;
  bool done = false;
  try {
    done = cv::imencode(path.extension().string(), bgr, bytes);
  } catch (const cv::Exception&) {
  }
  if (!done) throw UserError(ExitCode::failure, path.string() + ": this kind of picture cannot be written");
  write_file_atomically(path, std::string(bytes.begin(), bytes.end()));
}

}  // namespace bdc::host
