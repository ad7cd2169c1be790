#pragma once

#include <string>
#include <vector>

#include "studio/report/gallery_view.h"

namespace bdc::host {

/// One picture of the gallery with boxes on it, as HTML. A caption that would lie on an earlier one is hidden until the
/// reader enlarges the picture: add the boxes that matter most first.
class Panel {
 public:
  /// title: plain text; picture: SVG below the boxes, may be empty; label: what the picture shows, for those who do not
  /// see it.
  Panel(const std::string& title, const std::string& label, const View& view, const std::string& picture);

  /// Boxes outside of the view are left out. attributes: of the rectangle; tooltip, name and number: plain text. The
  /// name is shortened, the number never.
  void box(const Box& b, const std::string& attributes, const std::string& tooltip, const std::string& name = "",
           const std::string& number = "");
  [[nodiscard]] std::string html() const;

 private:
  void caption(const Box& b, const std::string& name, const std::string& number);
  Box region_;
  double font_, large_font_;  // in the image's pixels: as laid out, enlarged
  std::string head_, body_;
  std::vector<Box> captions_;
};

/// The part of picture i that the view shows, as a small JPEG in an SVG <image> with this id that others <use>; empty
/// without a picture. pictures: may be null.
[[nodiscard]] std::string stored_picture(const Pictures* pictures, std::size_t i, const View& view,
                                         const std::string& id);

/// A coordinate in few characters.
[[nodiscard]] std::string coordinate(double v);

}  // namespace bdc::host
