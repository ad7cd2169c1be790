#pragma once

#include "bdc/crowd/box.h"
#include "studio/report/report_data.h"

namespace bdc::host {

constexpr double kPage = 1200;  // pixels for the panels of a figure on a usual screen

/// The part of an image that a figure of the gallery shows.
struct View {
  Box region;                    ///< in the image's pixels
  double width = 0, height = 0;  ///< of the image; 0: nobody knows
  std::size_t panels = 1;        ///< of the figure
  /// How wide a panel is on a page of kPage: wide strips get more, rows of panels are equally long.
  [[nodiscard]] double pixels() const;
  [[nodiscard]] bool whole() const { return width > 0 && region.width() >= width && region.height() >= height; }
};

/// How sure a method is that its target n is there, in [0, 1].
[[nodiscard]] double sureness(const Targets& targets, std::size_t n);

/// Targets below this are not drawn.
constexpr double kLeastSure = 0.05;

/// Some margin round boxes, in a sensible shape; all of the image where that is not much more. width, height: of the
/// image, 0 when unknown.
[[nodiscard]] View view_round(const Box& reach, double width, double height);

/// What to show of image i: the region that holds all boxes, with some margin, or the most disputed place alone where
/// that is far smaller, or the whole image where that is not much more. width, height: of the image, 0 when unknown.
[[nodiscard]] View view_of(const ReportData& data, std::size_t i, double width, double height);

}  // namespace bdc::host
