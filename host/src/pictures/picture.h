#pragma once

#include <filesystem>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "bdc/crowd/box.h"

/// Pictures for people: boxes on images, sheets of several images. All images are 8-bit RGB.
namespace bdc::host {

/// A colour per class that can be told apart from its neighbours, also by the colour-blind.
[[nodiscard]] cv::Scalar class_colour(std::size_t label);

struct DrawnBox {
  Box box;  ///< pixels of the picture
  std::size_t label = 0;
  std::string caption;  ///< "cat 0.92"; may be empty
  double strength = 1;  ///< 0..1; weak boxes are drawn thin and pale
};

/// Draws boxes with captions that stay inside the picture and readable on any ground.
void draw_boxes(cv::Mat& picture, const std::vector<DrawnBox>& boxes);

/// A sheet of pictures, `columns` in a row, each with a title above it. Small pictures are enlarged by a whole factor
/// so that captions can be read.
[[nodiscard]] cv::Mat picture_sheet(const std::vector<cv::Mat>& pictures, const std::vector<std::string>& titles,
                                    int columns);

/// The whole factor by which picture_sheet would enlarge: draw boxes after enlarging, for crisp captions.
[[nodiscard]] int enlargement(const cv::Mat& picture);
[[nodiscard]] cv::Mat enlarged(const cv::Mat& picture, int factor);

/// Throws UserError (exit 1) unless write_picture can be expected to work: before long work rather than after it.
void check_picture_file(const std::filesystem::path& path);

/// Encodes by the extension (png, jpg) and writes through a temporary name. Throws UserError (exit 1) when that fails.
void write_picture(const std::filesystem::path& path, const cv::Mat& picture);

}  // namespace bdc::host
