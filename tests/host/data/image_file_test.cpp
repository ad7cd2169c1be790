// Image files as users have them: every kind of pixel, turned by EXIF, broken, and too large.

#include "data/image_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <sstream>

#include "bdc/base/error.h"
#include "data/shapes.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

/// 30 wide, 20 high, every pixel different, RGB.
cv::Mat sample(int width = 30, int height = 20) {
  cv::Mat out(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) out.at<cv::Vec3b>(y, x) = cv::Vec3b(uchar(x * 8), uchar(y * 12), uchar(x + y));
  }
  return out;
}

std::string encoded(const std::string& extension, const cv::Mat& image, const std::vector<int>& options = {}) {
  std::vector<unsigned char> bytes;
  cv::imencode(extension, image, bytes, options);
  return {bytes.begin(), bytes.end()};
}

std::string encoded_rgb(const std::string& extension, const cv::Mat& rgb) {
  cv::Mat bgr;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  return encoded(extension, bgr);
}

cv::Mat decoded(const std::string& bytes, const ImageLimits& limits = {}) {
  std::istringstream in(bytes);
  return read_image(in, "x", limits);
}

double difference(const cv::Mat& a, const cv::Mat& b) {
  return a.size() == b.size() && a.type() == b.type() ? cv::norm(a, b, cv::NORM_INF) : 1e9;
}

std::string message_of(const std::string& bytes, const ImageLimits& limits = {}) {
  try {
    (void)decoded(bytes, limits);
  } catch (const DataError& e) {
    return e.what();
  }
  return "no error";
}

/// An EXIF block that says nothing but the orientation, put behind the JPEG's start.
std::string with_orientation(const std::string& jpeg, int orientation, bool big_endian) {
  std::string tiff = big_endian ? std::string("MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 19)
                                : std::string("II\x2A\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18);
  tiff += static_cast<char>(orientation);
  tiff += std::string(big_endian ? 2 : 3, '\0');
  tiff += std::string(4, '\0');
  const std::string segment = std::string("Exif\0\0", 6) + tiff;
  const auto length = segment.size() + 2;
  return jpeg.substr(0, 2) + "\xFF\xE1" + static_cast<char>(length >> 8) + static_cast<char>(length & 255) + segment +
         jpeg.substr(2);
}

TEST(ImageFile, LosslessFormatsGiveBackTheirPixelsInRgb) {
  for (const char* format : {".png", ".bmp", ".tiff", ".ppm"}) {
    EXPECT_EQ(difference(decoded(encoded_rgb(format, sample())), sample()), 0) << format;
  }
  const ShapesData shapes({1, 3, 64, 2, 1});
  for (const char* format : {".jpg", ".webp"}) {
    const cv::Mat image = decoded(encoded_rgb(format, shapes.image(0)));
    EXPECT_LT(cv::norm(image, shapes.image(0), cv::NORM_L1) / double(image.total() * 3), 12) << format;
  }
}

TEST(ImageFile, GreyBecomesThreeEqualChannelsAndTransparencyIsDropped) {
  cv::Mat grey(5, 7, CV_8UC1, cv::Scalar(77)), four(5, 7, CV_8UC4, cv::Scalar(10, 20, 30, 40));
  EXPECT_EQ(difference(decoded(encoded(".png", grey)), cv::Mat(5, 7, CV_8UC3, cv::Scalar::all(77))), 0);
  EXPECT_EQ(difference(decoded(encoded(".png", four)), cv::Mat(5, 7, CV_8UC3, cv::Scalar(30, 20, 10))), 0);
}

TEST(ImageFile, SixteenBitsAreScaledByTheRangeInUse) {
  const auto first_pixel = [](int largest, int value) {
    cv::Mat image(4, 4, CV_16UC1, cv::Scalar(largest));
    image.at<ushort>(0, 0) = static_cast<ushort>(value);
    const auto png = decoded(encoded(".png", image)), tiff = decoded(encoded(".tiff", image));
    EXPECT_EQ(difference(png, tiff), 0);
    return static_cast<int>(png.at<cv::Vec3b>(0, 0)[1]);
  };
  EXPECT_EQ(first_pixel(65535, 65535), 255);
  EXPECT_EQ(first_pixel(65535, 257 * 100), 100);
  EXPECT_EQ(first_pixel(4096, 257), 1);  // one value above 12 bits: a 16-bit image
  EXPECT_EQ(first_pixel(4095, 4095), 255);
  EXPECT_EQ(first_pixel(4095, 2056), 128);
  EXPECT_EQ(first_pixel(255, 200), 200);
}

TEST(ImageFile, ExifOrientationGivesTheFrameThatOpenCvShows) {
  const std::string jpeg = encoded_rgb(".jpg", sample(48, 32));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true}) {
      const std::string bytes = with_orientation(jpeg, orientation, big_endian);
      const std::vector<unsigned char> raw(bytes.begin(), bytes.end());
      cv::Mat expected = cv::imdecode(raw, cv::IMREAD_COLOR);
      cv::cvtColor(expected, expected, cv::COLOR_BGR2RGB);
      EXPECT_EQ(difference(decoded(bytes), expected), 0) << orientation << big_endian;
      std::istringstream in(bytes);
      const auto header = bdc::read_image_header(in);
      ASSERT_TRUE(header.has_value());
      EXPECT_EQ(header->orientation, orientation);
      EXPECT_EQ(header->shown_width(), orientation >= 5 ? 32 : 48);
      EXPECT_EQ(header->shown_height(), orientation >= 5 ? 48 : 32);
    }
  }
}

TEST(ImageFile, HeadersTellTheSizeOfEveryFormat) {
  for (const char* format : {".png", ".bmp", ".tiff", ".ppm", ".jpg", ".webp"}) {
    std::istringstream in(encoded_rgb(format, sample(31, 17)));
    const auto header = bdc::read_image_header(in);
    ASSERT_TRUE(header.has_value()) << format;
    EXPECT_EQ(header->width, 31) << format;
    EXPECT_EQ(header->height, 17) << format;
  }
}

TEST(ImageFile, AFileThatBreaksOffIsAnError) {
  const ShapesData shapes({1, 3, 64, 2, 1});
  for (const char* format : {".png", ".jpg", ".bmp", ".tiff", ".webp", ".ppm"}) {
    const std::string whole = encoded_rgb(format, shapes.image(0));
    for (const double share : {0.0, 0.01, 0.3, 0.7, 0.98}) {
      const auto part = whole.substr(0, static_cast<std::size_t>(share * static_cast<double>(whole.size())));
      EXPECT_NE(message_of(part), "no error") << format << " " << share;
    }
  }
}

TEST(ImageFile, AnyFlippedBytesEndInAnImageOrADataError) {
  const std::string seeds[] = {
      encoded_rgb(".png", sample()),  encoded_rgb(".jpg", sample()),
      encoded_rgb(".bmp", sample()),  encoded_rgb(".tiff", sample()),
      encoded_rgb(".webp", sample()), with_orientation(encoded_rgb(".jpg", sample()), 6, true)};
  std::uint32_t state = 1;
  const auto random = [&] { return state = state * 1664525u + 1013904223u, state >> 8; };
  for (const auto& seed : seeds) {
    for (int trial = 0; trial < 60; ++trial) {
      std::string bytes = seed;
      for (int flips = 0; flips < 4; ++flips) {
        bytes[random() % std::min<std::size_t>(bytes.size(), 200)] = static_cast<char>(random());
      }
      try {
        const cv::Mat image = decoded(bytes, {100000});
        EXPECT_EQ(image.type(), CV_8UC3);
        EXPECT_LE(image.total(), 100000u);
      } catch (const DataError&) {
      }
    }
  }
}

TEST(ImageFile, WhatDecodersSayOfBrokenFilesStaysOffTheConsole) {
  const ShapesData shapes({1, 3, 64, 2, 1});
  std::string png = encoded_rgb(".png", shapes.image(0));
  const std::string jpeg = encoded_rgb(".jpg", shapes.image(0));
  const std::string cut_png = png.substr(0, png.size() / 2);
  png[png.size() / 2] ^= 0x55;
  const std::string half_jpeg = jpeg.substr(0, jpeg.size() * 6 / 10) + "\xFF\xD9";  // the rest is made up
  testing::internal::CaptureStderr();
  const std::string messages[] = {message_of(png), message_of(cut_png), message_of(half_jpeg)};
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(messages[0], "x: the PNG file is broken and cannot be decoded");
  EXPECT_EQ(messages[1], "x: the PNG file is broken and cannot be decoded");
  EXPECT_EQ(messages[2].rfind("x: the pixels of the JPEG file are damaged: ", 0), 0u) << messages[2];
  testing::internal::CaptureStderr();
  std::cerr << "one ";
  std::fprintf(stderr, "two");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "one two") << "everything else is printed as ever";
}

TEST(ImageFile, ADecompressionBombIsRefusedByItsHeader) {
  std::string png = encoded_rgb(".png", sample());
  const unsigned char huge[] = {0, 1, 0x86, 0xA0, 0, 1, 0x86, 0xA0};  // 100000 x 100000
  std::memcpy(&png[16], huge, 8);
  EXPECT_NE(message_of(png).find("100000x100000"), std::string::npos) << message_of(png);
  EXPECT_EQ(message_of(encoded_rgb(".png", sample()), {30 * 20}), "no error");
  EXPECT_NE(message_of(encoded_rgb(".png", sample()), {30 * 20 - 1}).find("30x20"), std::string::npos);
}

/// A TIFF of 5 x 4 pixels with three samples each, whose formats (3: floating point) stand behind the directory.
std::string tiff_of_three_samples(int sample_format, bool big_endian) {
  std::string out = big_endian ? "MM" : "II";
  const auto put = [&](int value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * (big_endian ? bytes - 1 - i : i) & 255);
  };
  const auto entry = [&](int tag, int type, int count, int value) {
    put(tag, 2), put(type, 2), put(count, 4), put(value, 4);
  };
  put(42, 2), put(8, 4), put(3, 2);
  entry(0x0100, 4, 1, 5);
  entry(0x0101, 4, 1, 4);
  entry(0x0153, 3, 3, 50);  // 8 + 2 + 3 * 12 + 4
  put(0, 4);
  for (int i = 0; i < 3; ++i) put(sample_format, 2);
  return out;
}

TEST(ImageFile, FloatingPointTiffsAreRefusedAsSuchAndNotAsBroken) {
  const std::string expected = "x: a TIFF with floating-point pixels, which are not read";
  for (const int type : {CV_32FC1, CV_64FC1}) {
    const std::string message = message_of(encoded(".tiff", cv::Mat(4, 5, type, cv::Scalar::all(0.5))));
    EXPECT_EQ(message.find(expected), 0u) << type << ": " << message;
  }
  for (const bool big_endian : {false, true}) {
    EXPECT_EQ(message_of(tiff_of_three_samples(3, big_endian)).find(expected), 0u);
    const std::string other = message_of(tiff_of_three_samples(1, big_endian));
    EXPECT_EQ(other.find("x: the TIFF file cannot be decoded: it is broken, or stored in a way"), 0u) << other;
  }
  const std::string log_luv = message_of(encoded(".tiff", cv::Mat(4, 5, CV_32FC3, cv::Scalar::all(0.5))));
  EXPECT_EQ(log_luv, "x: expected pixels of 8 or 16 bits, found floating-point ones");
}

TEST(ImageFile, OtherFilesAreRefusedByName) {
  const test::TemporaryFolder folder;
  const auto refused = [&](const std::filesystem::path& file) {
    try {
      (void)read_image_file(file);
    } catch (const DataError& e) {
      return std::string(e.what()).find(file.string()) == 0;
    }
    return false;
  };
  EXPECT_TRUE(refused(folder.write("text.jpg", "hello, this is not an image")));
  EXPECT_TRUE(refused(folder.write("empty.png", "")));
  EXPECT_TRUE(refused(folder.path() / "missing.png"));
  EXPECT_TRUE(refused(folder.path()));
  cv::Mat real(4, 4, CV_32FC1, cv::Scalar(0.5));
  EXPECT_TRUE(refused(folder.write("float.tiff", encoded(".tiff", real))));
  const auto file = folder.write("ok.png", encoded_rgb(".png", sample()));
  EXPECT_EQ(difference(read_image_file(file), sample()), 0);
}

}  // namespace
}  // namespace bdc::host
