#include "data/shapes.h"

#include <algorithm>
#include <array>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bdc/base/parallel.h"
#include "bdc/base/random.h"

namespace bdc::host {
namespace {

struct Shape {
  int kind = 0;
  cv::Scalar colour;
  std::vector<std::vector<cv::Point>> outline;  // sub-pixel coordinates, kShift bits; later contours are holes
};

constexpr int kShift = 4;
constexpr double kTau = 6.283185307179586;

using Outline = std::vector<std::vector<cv::Point2d>>;  // around the origin, radius about 1

std::vector<cv::Point2d> around(int corners, double first_angle, double radius, double from = 0, double to = kTau) {
  std::vector<cv::Point2d> out;
  const double share = to - from < kTau - 1e-9 ? corners - 1 : corners;
  for (int i = 0; i < corners; ++i) {
    const double angle = first_angle + from + (to - from) * i / share;
    out.emplace_back(radius * std::cos(angle), radius * std::sin(angle));
  }
  return out;
}

std::vector<cv::Point2d> star(int points, double inner) {
  std::vector<cv::Point2d> out;
  for (int i = 0; i < 2 * points; ++i) {
    const double radius = i % 2 ? inner : 1.0, angle = -kTau / 4 + kTau * i / (2 * points);
    out.emplace_back(radius * std::cos(angle), radius * std::sin(angle));
  }
  return out;
}

struct Kind {
  const char* name;
  Outline outline;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"disc", {around(48, 0, 1)}},
      {"square", {{{-0.85, -0.85}, {0.85, -0.85}, {0.85, 0.85}, {-0.85, 0.85}}}},
      {"triangle", {around(3, -kTau / 4, 1.1)}},
      {"cross",
       {{{-0.3, -1},
         {0.3, -1},
         {0.3, -0.3},
         {1, -0.3},
         {1, 0.3},
         {0.3, 0.3},
         {0.3, 1},
         {-0.3, 1},
         {-0.3, 0.3},
         {-1, 0.3},
         {-1, -0.3},
         {-0.3, -0.3}}}},
      {"star", {star(5, 0.42)}},
      {"ring", {around(48, 0, 1), around(48, 0, 0.55)}},
      {"diamond", {{{0, -1.1}, {0.6, 0}, {0, 1.1}, {-0.6, 0}}}},
      {"half-disc", {around(32, 0, 1, 0, kTau / 2)}},
      {"hourglass", {{{-0.9, -1}, {0.9, -1}, {0.15, 0}, {0.9, 1}, {-0.9, 1}, {-0.15, 0}}}},
      {"arrow", {{{-1, -0.25}, {0.1, -0.25}, {0.1, -0.8}, {1, 0}, {0.1, 0.8}, {0.1, 0.25}, {-1, 0.25}}}},
      {"corner", {{{-0.9, -0.9}, {-0.3, -0.9}, {-0.3, 0.3}, {0.9, 0.3}, {0.9, 0.9}, {-0.9, 0.9}}}},
      {"hexagon", {around(6, 0, 1)}},
  };
  return all;
}

Box bounds(const Shape& shape, int size) {
  cv::Mat mask = cv::Mat::zeros(size, size, CV_8U);
  cv::fillPoly(mask, shape.outline, cv::Scalar(255), cv::LINE_8, kShift);
  const cv::Rect r = cv::boundingRect(mask);
  return {static_cast<double>(r.x), static_cast<double>(r.y), static_cast<double>(r.x + r.width),
          static_cast<double>(r.y + r.height)};
}

cv::Scalar bright_colour(Random& random) {
  const double hue = random.uniform(0, 6);
  const double low = random.uniform(20, 90), high = random.uniform(190, 255);
  const double part = hue - std::floor(hue), rising = low + (high - low) * part, falling = high - (high - low) * part;
  switch (static_cast<int>(hue)) {
    case 0:
      return {high, rising, low};
    case 1:
      return {falling, high, low};
    case 2:
      return {low, high, rising};
    case 3:
      return {low, falling, high};
    case 4:
      return {rising, low, high};
    default:
      return {high, low, falling};
  }
}

struct Scene {
  std::vector<Shape> shapes;
  std::vector<Box> boxes;
};

/// What is in an image: shapes that hardly overlap, so that every box stays exact.
Scene compose(const ShapesSettings& settings, std::int64_t index) {
  Random random(settings.seed, 1, static_cast<std::uint64_t>(index));
  const int size = static_cast<int>(settings.size);
  Scene scene;
  const std::int64_t wanted = 1 + random.below(settings.max_objects);
  for (std::int64_t attempt = 0; attempt < 20 * wanted && static_cast<std::int64_t>(scene.shapes.size()) < wanted;
       ++attempt) {
    Shape shape;
    shape.kind = static_cast<int>(random.below(settings.classes));
    shape.colour = bright_colour(random);
    const double radius = size * random.uniform(0.09, 0.24), stretch = std::exp(random.uniform(-0.2, 0.2));
    const double tilt = random.uniform(-0.2, 0.2), c = std::cos(tilt), s = std::sin(tilt);
    const double cx = random.uniform(radius * 1.2, size - radius * 1.2),
                 cy = random.uniform(radius * 1.2, size - radius * 1.2);
    for (const auto& contour : kinds()[static_cast<std::size_t>(shape.kind)].outline) {
      std::vector<cv::Point> points;
      for (const auto& p : contour) {
        const double x = p.x * radius * stretch, y = p.y * radius / stretch;
        points.emplace_back(static_cast<int>(std::lround((cx + c * x - s * y) * (1 << kShift))),
                            static_cast<int>(std::lround((cy + s * x + c * y) * (1 << kShift))));
      }
      shape.outline.push_back(std::move(points));
    }
    const Box box = bounds(shape, size);
    const bool free = box.valid() && std::all_of(scene.boxes.begin(), scene.boxes.end(),
                                                 [&](const Box& other) { return iou(box, other) < 0.02; });
    if (!free) continue;
    scene.boxes.push_back(box);
    scene.shapes.push_back(std::move(shape));
  }
  return scene;
}

/// A soft gradient with blotches and fine noise, darker than the shapes.
cv::Mat background(const ShapesSettings& settings, std::int64_t index) {
  Random random(settings.seed, 2, static_cast<std::uint64_t>(index));
  const int size = static_cast<int>(settings.size);
  cv::Mat coarse(8, 8, CV_8UC3), fine(size, size, CV_8UC3), out;
  const double level = random.uniform(40, 120);
  for (int y = 0; y < coarse.rows; ++y) {
    for (int x = 0; x < coarse.cols; ++x) {
      for (int c = 0; c < 3; ++c)
        coarse.at<cv::Vec3b>(y, x)[c] = cv::saturate_cast<uchar>(level + random.uniform(-40, 40));
    }
  }
  cv::resize(coarse, out, {size, size}, 0, 0, cv::INTER_CUBIC);
  for (int y = 0; y < size; ++y) {
    auto* row = fine.ptr<cv::Vec3b>(y);
    for (int x = 0; x < size; ++x) {
      const std::uint64_t bits = random.next();
      for (int c = 0; c < 3; ++c) row[x][c] = static_cast<uchar>((bits >> (8 * c)) & 31);
    }
  }
  cv::add(out, fine, out);
  return out;
}

}  // namespace

ShapesData::ShapesData(const ShapesSettings& settings) : settings_(settings) {
  if (settings.images < 1 || settings.size < 32 || settings.classes < 1 || settings.classes > kShapeClasses ||
      settings.max_objects < 1) {
    throw std::invalid_argument("shapes: images >= 1, size >= 32, classes 1.." + std::to_string(kShapeClasses) +
                                " and max_objects >= 1 are needed");
  }
  for (std::int64_t c = 0; c < settings.classes; ++c) {
    ClassRecord record;
    record.id.text = std::to_string(c);
    record.id.is_integer = true;
    record.name = kinds()[static_cast<std::size_t>(c)].name;
    labels_.classes.push_back(std::move(record));
  }
  const auto images = static_cast<std::size_t>(settings.images);
  std::vector<Scene> scenes(images);
  parallel_chunks(images, 16, 0, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) scenes[i] = compose(settings, static_cast<std::int64_t>(i));
  });
  const int size = static_cast<int>(settings.size);
  for (std::size_t i = 0; i < images; ++i) {
    ImageRecord record;
    record.id.text = std::to_string(i);
    record.id.is_integer = true;
    record.file = "shapes/" + record.id.text + ".png";
    record.width = record.height = size;
    labels_.images.push_back(std::move(record));
    for (std::size_t n = 0; n < scenes[i].boxes.size(); ++n) {
      const Box& box = scenes[i].boxes[n];
      labels_.truth.push_back({box, static_cast<std::int32_t>(i), scenes[i].shapes[n].kind, false, box.area()});
    }
  }
  labels_.has_truth = true;
  labels_.finalize();
}

cv::Mat ShapesData::image(std::int64_t index) const {
  if (index < 0 || index >= settings_.images) throw std::out_of_range("shapes: no image " + std::to_string(index));
  cv::Mat out = background(settings_, index);
  for (const auto& shape : compose(settings_, index).shapes) {
    cv::fillPoly(out, shape.outline, shape.colour, cv::LINE_8, kShift);
  }
  return out;
}

}  // namespace bdc::host
