#include "studio/report/gallery_panel.h"

#include <algorithm>

#include "studio/report/html.h"

namespace bdc::host {
namespace {

constexpr double kFont = 11, kLargeFont = 13;  // pixels
constexpr double kLetter = 0.64;               // width of a letter in font sizes, roughly
constexpr std::size_t kMostLetters = 14;
constexpr int kPictureEdge = 480;  // pixels

bool touch(const Box& a, const Box& b) {
  return a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2;
}

std::size_t letters_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string coordinate(double v) {
  return brief(v, 5);
}

std::string stored_picture(const Pictures* pictures, std::size_t i, const View& view, const std::string& id) {
  if (pictures == nullptr) return "";
  const auto part = pictures->part(i, view.region, view.width, view.height, kPictureEdge);
  if (!part) return "";
  return "<svg class=\"store\" width=\"0\" height=\"0\" aria-hidden=\"true\"><image id=\"" + id + "\" x=\"" +
         coordinate(part->region.x1) + "\" y=\"" + coordinate(part->region.y1) + "\" width=\"" +
         coordinate(part->region.width()) + "\" height=\"" + coordinate(part->region.height()) +
         "\" preserveAspectRatio=\"none\" href=\"data:image/jpeg;base64," + base64(part->jpeg) + "\"/></svg>";
}

Panel::Panel(const std::string& title, const std::string& label, const View& view, const std::string& picture)
    : region_(view.region),
      font_(view.region.width() * kFont / view.pixels()),
      large_font_(view.region.width() * kLargeFont / kPage) {
  const std::string x = coordinate(region_.x1), y = coordinate(region_.y1), wide = coordinate(region_.width()),
                    high = coordinate(region_.height());
  head_ = "<div class=\"panel\"><h4>" + isolated(title) + "</h4><svg class=\"" +
          (picture.empty() ? "pic" : "pic photo") + "\" role=\"img\" aria-label=\"" + escape_html(label) +
          "\" style=\"--f:" + coordinate(font_) + "px;--g:" + coordinate(large_font_) + "px\" viewBox=\"" + x + " " +
          y + " " + wide + " " + high + "\"><rect class=\"paper\" x=\"" + x + "\" y=\"" + y + "\" width=\"" + wide +
          "\" height=\"" + high + "\"/>" + picture;
}

void Panel::caption(const Box& b, const std::string& name, const std::string& number) {
  const std::string cut = shortened(name, kMostLetters),
                    text = cut + (cut.empty() || number.empty() ? "" : " ") + number;
  if (text.empty()) return;
  const double wide = static_cast<double>(letters_of(text)) * kLetter * font_;
  const bool at_end = b.x1 + wide > region_.x2;  // leans on the right edge instead of running over it
  const double x = at_end ? std::max(region_.x1, region_.x2 - wide) : std::max(region_.x1, b.x1);
  const auto place = [&](double base) { return Box{x, base - 0.85 * font_, x + wide, base + 0.25 * font_}; };
  const double above = b.y1 - 0.3 * font_, below = b.y2 + 0.95 * font_;
  const auto fits = [&](double base) {
    const Box here = place(base);
    return here.y1 >= region_.y1 && here.y2 <= region_.y2 &&
           std::none_of(captions_.begin(), captions_.end(), [&](const Box& other) { return touch(here, other); });
  };
  const double inside = std::min(region_.y2 - 0.3 * font_, std::max(region_.y1, b.y1) + font_);
  double base = inside;
  bool free = false;
  for (const double wanted : {inside, below, above}) {
    if (!fits(wanted)) continue;
    base = wanted;
    free = true;
  }
  if (free) captions_.push_back(place(base));
  const std::string kind = std::string(at_end ? "e" : "") + (free ? "" : " over");
  body_ += "<text" + (kind.empty() ? "" : " class=\"" + kind + "\"") + " x=\"" +
           coordinate(at_end ? region_.x2 - 0.1 * font_ : x) + "\" y=\"" + coordinate(base) + "\">" +
           escape_html(text) + "</text>";
}

void Panel::box(const Box& b, const std::string& attributes, const std::string& tooltip, const std::string& name,
                const std::string& number) {
  if (!b.valid() || intersection(b, region_) <= 0) return;
  body_ += "<rect x=\"" + coordinate(b.x1) + "\" y=\"" + coordinate(b.y1) + "\" width=\"" + coordinate(b.width()) +
           "\" height=\"" + coordinate(b.height()) + "\" " + attributes + "><title>" + escape_html(tooltip) +
           "</title></rect>";
  caption(b, name, number);
}

std::string Panel::html() const {
  return head_ + body_ + "</svg></div>";
}

}  // namespace bdc::host
