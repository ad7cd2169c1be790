#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "bdc/core/metrics/disagreement.h"
#include "report/html.h"
#include "report/sections.h"

namespace bdc::host {
namespace {

constexpr std::size_t kMostBoxes = 300, kMostNames = 24;
constexpr int kPictureEdge = 480, kJpegQuality = 72;
constexpr double kLeastWeight = 0.05;

std::string whole(double v) {
  return brief(std::round(v * 10) / 10, 6);
}

/// Width and height of image i; where the labels do not say, as far as boxes reach.
std::pair<double, double> size_of(const CrowdData& crowd, std::size_t i) {
  double width = crowd.images[i].width, height = crowd.images[i].height;
  if (width > 0 && height > 0) return {width, height};
  width = height = 1;
  for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
    width = std::max(width, crowd.annotations[n].box.x2);
    height = std::max(height, crowd.annotations[n].box.y2);
  }
  return {width, height};
}

std::string rectangle(const Box& b, const std::string& attributes, const std::string& tooltip) {
  return "<rect x=\"" + whole(b.x1) + "\" y=\"" + whole(b.y1) + "\" width=\"" + whole(b.width()) + "\" height=\"" +
         whole(b.height()) + "\" " + attributes + "><title>" + tooltip + "</title></rect>";
}

/// A small JPEG as a data URI; empty when the picture cannot be had.
std::string picture_uri(const Dataset& pictures, std::size_t i) {
  try {
    const cv::Mat rgb = pictures.image(static_cast<std::int64_t>(i));
    const double scale = std::min(1.0, static_cast<double>(kPictureEdge) / std::max(rgb.cols, rgb.rows));
    cv::Mat small, bgr;
    cv::resize(rgb, small, {}, scale, scale, cv::INTER_AREA);
    cv::cvtColor(small, bgr, cv::COLOR_RGB2BGR);
    std::vector<unsigned char> bytes;
    if (!cv::imencode(".jpg", bgr, bytes, {cv::IMWRITE_JPEG_QUALITY, kJpegQuality})) return "";
    return "data:image/jpeg;base64," + base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const DataError&) {
    return "";
  }
}

/// One picture of the gallery with boxes on it.
class Panel {
 public:
  Panel(std::string title, double width, double height, const std::string& picture)
      : title_(std::move(title)),
        head_("<svg class=\"" + std::string(picture.empty() ? "pic" : "pic photo") + "\" role=\"img\" viewBox=\"0 0 " +
              whole(width) + " " + whole(height) + "\"><rect class=\"paper\" width=\"" + whole(width) + "\" height=\"" +
              whole(height) + "\"/>" + picture),
        font_(std::max(width, height) / 30),
        height_(height) {}

  void box(const Box& b, const std::string& attributes, const std::string& tooltip, const std::string& caption) {
    if (!b.valid()) return;
    body_ += rectangle(b, attributes, tooltip);
    if (caption.empty()) return;
    const double y = b.y1 > font_ ? b.y1 - font_ * 0.25 : std::min(height_, b.y2 + font_);
    body_ += "<text x=\"" + whole(std::max(0.0, b.x1)) + "\" y=\"" + whole(y) + "\" font-size=\"" + whole(font_) +
             "\">" + caption + "</text>";
  }
  [[nodiscard]] std::string html() const {
    return "<div class=\"panel\"><h4>" + title_ + "</h4>" + head_ + body_ + "</svg></div>";
  }

 private:
  std::string title_, head_, body_;
  double font_, height_;
};

std::string annotator_name_of(const CrowdData& crowd, std::int32_t k) {
  const AnnotatorRecord& a = crowd.annotators[static_cast<std::size_t>(k)];
  return a.name.empty() ? a.id.text : a.name;
}

/// Who drew in the image, each with a hue of its own.
std::map<std::int32_t, int> hues_of(const CrowdData& crowd, std::size_t i) {
  std::map<std::int32_t, int> hues;
  for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
    hues.emplace(crowd.annotations[n].annotator, 0);
  }
  int n = 0;
  for (auto& [annotator, hue] : hues) hue = static_cast<int>(std::lround(n++ * 137.508)) % 360;
  return hues;
}

std::string figure(const ReportData& data, std::size_t i, double disagreement, std::size_t number) {
  const CrowdData& crowd = data.crowd;
  const auto [width, height] = size_of(crowd, i);
  std::string uri = data.pictures ? picture_uri(*data.pictures, i) : "", picture;
  const std::string id = "pic" + std::to_string(number);
  if (!uri.empty()) picture = "<use href=\"#" + id + "\"/>";

  const auto hues = hues_of(crowd, i);
  const std::size_t drawn = crowd.annotation_begin[i + 1] - crowd.annotation_begin[i],
                    lookers = crowd.assignment_begin[i + 1] - crowd.assignment_begin[i];
  Panel all("annotators", width, height, picture);
  for (std::size_t n = crowd.annotation_begin[i]; n < crowd.annotation_begin[i + 1]; ++n) {
    if (n - crowd.annotation_begin[i] >= kMostBoxes) break;
    const Annotation& a = crowd.annotations[n];
    all.box(a.box, "class=\"a\" style=\"--h:" + std::to_string(hues.at(a.annotator)) + "\"",
            escape_html(annotator_name_of(crowd, a.annotator)) + ": " +
                escape_html(crowd.classes[static_cast<std::size_t>(a.label)].name),
            "");
  }
  std::string panels = all.html();
  for (const MethodLabels& m : data.methods) {
    Panel panel(isolated(m.name), width, height, picture);
    for (std::size_t n = m.targets.begin[i]; n < m.targets.begin[i + 1]; ++n) {
      const double sure =
          std::clamp(m.targets.existence.empty() ? m.targets.weight[n] : m.targets.existence[n], 0.0, 1.0);
      if (sure < kLeastWeight || n - m.targets.begin[i] >= kMostBoxes) continue;
      const auto label = static_cast<std::size_t>(m.targets.label(n));
      const std::string name = escape_html(crowd.classes[label].name);
      const std::string tooltip = name + " " + brief(m.targets.class_prob(n, label), 2) + ", " +
                                  (m.targets.existence.empty() ? "weight " : "existence ") + brief(sure, 2);
      panel.box(m.targets.box[n], "class=\"c\" stroke-opacity=\"" + brief(0.25 + 0.75 * sure, 2) + "\"", tooltip,
                (crowd.classes.size() > 1 ? name + " " : "") + brief(sure, 2));
    }
    panels += panel.html();
  }
  if (crowd.has_truth && crowd.truth_covers[i]) {
    Panel panel("truth", width, height, picture);
    for (std::size_t n = crowd.truth_begin[i]; n < crowd.truth_begin[i + 1]; ++n) {
      const std::string name = escape_html(crowd.classes[static_cast<std::size_t>(crowd.truth[n].label)].name);
      panel.box(crowd.truth[n].box, "class=\"t\"", name, crowd.classes.size() > 1 ? name : "");
    }
    panels += panel.html();
  }
  std::string out = "<figure>";
  if (!uri.empty()) {
    out += "<svg class=\"store\" width=\"0\" height=\"0\"><image id=\"" + id + "\" width=\"" + whole(width) +
           "\" height=\"" + whole(height) + "\" preserveAspectRatio=\"none\" href=\"" + uri + "\"/></svg>";
  }
  const ImageRecord& image = crowd.images[i];
  out += "<figcaption><b>" + isolated(image.file.empty() ? image.id.text : image.file) + "</b> disagreement " +
         brief(disagreement, 2) + ", " + std::to_string(drawn) + " boxes of " + std::to_string(hues.size()) + " of " +
         std::to_string(lookers) + " annotators who looked" +
         (drawn > kMostBoxes ? " (the first " + std::to_string(kMostBoxes) + " are shown)" : "") +
         "</figcaption><div class=\"panels\">" + panels + "</div><p class=\"legend\">";
  std::size_t named = 0;
  for (const auto& [annotator, hue] : hues) {
    if (named++ == kMostNames) {
      out += "and " + std::to_string(hues.size() - kMostNames) + " more";
      break;
    }
    out += "<span class=\"a\" style=\"--h:" + std::to_string(hue) + "\"><i></i>" +
           isolated(annotator_name_of(crowd, annotator)) + "</span> ";
  }
  return out + "</p></figure>";
}

}  // namespace

std::string gallery_section(const ReportData& data, const ReportSettings& settings) {
  if (data.crowd.annotations.empty() || data.crowd.annotators.size() < 2 || settings.gallery == 0) return "";
  const auto disagreement = image_disagreement(data.crowd, 0.45, settings.threads);
  std::vector<std::size_t> order(disagreement.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return disagreement[a] > disagreement[b]; });
  std::string figures;
  std::size_t shown = 0;
  for (const std::size_t i : order) {
    if (shown == settings.gallery || !(disagreement[i] > 0)) break;
    figures += figure(data, i, disagreement[i], shown++);
  }
  if (shown == 0) return "";
  const double mean =
      std::accumulate(disagreement.begin(), disagreement.end(), 0.0) / static_cast<double>(order.size());
  return "<section id=\"gallery\"><h2>Where annotators disagree</h2><p>The " + std::to_string(shown) + " of " +
         std::to_string(order.size()) +
         " images with the most disagreement. 0: all who looked drew the same boxes and classes; 1: no two drew a "
         "common "
         "object; the mean over all images is " +
         brief(mean, 2) +
         ". Numbers at the boxes of a method: how sure it is that the object is there; paler boxes are less sure.</p>" +
         figures + "</section>";
}

}  // namespace bdc::host
