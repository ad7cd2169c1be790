#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "bdc/crowd/box.h"

namespace bdc::host {

/// The pictures of a crowd's images, for pages: image i is picture i. One that is missing or broken is no picture.
class Pictures {
 public:
  virtual ~Pictures() = default;

  struct Size {
    double width = 0, height = 0;
  };
  /// Of picture i, in its own pixels; nothing when there is none.
  [[nodiscard]] virtual std::optional<Size> size(std::size_t image) const = 0;

  struct Part {
    Box region;        ///< what is shown, in pixels of the image
    std::string jpeg;  ///< the file's bytes
  };
  /// The whole pixels of picture i that cover `region`, which is given in pixels of an image of width x height, scaled
  /// down to at most `edge` pixels; nothing when there is no picture or the region lies outside.
  [[nodiscard]] virtual std::optional<Part> part(std::size_t image, const Box& region, double width, double height,
                                                 int edge) const = 0;
};

}  // namespace bdc::host
