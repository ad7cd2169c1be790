#include "data/image_file.h"

#include <fstream>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "bdc/base/error.h"
#include "data/decoder_messages.h"

namespace bdc::host {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw DataError(name + ": " + what);
}

std::ifstream open_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (error || !std::filesystem::exists(status)) fail(file.string(), "no such image file");
  if (!std::filesystem::is_regular_file(status)) fail(file.string(), "expected an image file, found something else");
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(file.string(), "the image file cannot be opened for reading");
  return in;
}

ImageHeader checked_header(std::istream& in, const std::string& name, const ImageLimits& limits) {
  const auto header = bdc::read_image_header(in);
  if (!header) fail(name, "not an image, or a broken one; expected JPEG, PNG, TIFF, BMP, WebP or PNM");
  if (header->height > limits.max_pixels / header->width) {
    fail(name, "is " + std::to_string(header->width) + "x" + std::to_string(header->height) + " pixels; at most " +
                   std::to_string(limits.max_pixels) + " pixels are read (data.max_megapixels)");
  }
  if (header->orientation != 1 && std::string(header->format) == "TIFF") {
    fail(name, "a TIFF whose pixels are stored rotated or mirrored (orientation " +
                   std::to_string(header->orientation) + "); save it upright");
  }
  if (header->floating_point) {
    fail(name, "a TIFF with floating-point pixels, which are not read; save it with 8 or 16 bits per channel");
  }
  return *header;
}

std::vector<unsigned char> all_bytes(std::istream& in, const std::string& name, const ImageLimits& limits) {
  in.clear();
  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::int64_t>(in.tellg());
  const std::int64_t most = limits.max_pixels * 8 + (std::int64_t{64} << 20);  // 16-bit RGBA and metadata
  if (size < 0 || size > most) fail(name, "the file has more bytes than an image within the limits can need");
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), size);
  if (in.gcount() != size) fail(name, "reading stopped before the end of the file");
  return bytes;
}

/// Whether a JPEG has its end marker. Decoders fill up a file that breaks off with grey and say nothing.
bool jpeg_is_complete(const std::vector<unsigned char>& b) {
  for (std::size_t at = 2; at + 1 < b.size();) {
    if (b[at] != 0xFF) {
      ++at;  // coded pixels, or rubbish between segments that decoders skip too
      continue;
    }
    const int kind = b[at + 1];
    if (kind == 0xD9) return true;
    if (kind == 0xFF) {
      ++at;
    } else if (kind == 0x00 || kind == 0x01 || (kind >= 0xD0 && kind <= 0xD8)) {
      at += 2;
    } else {
      if (at + 3 >= b.size()) return false;
      at += 2 + static_cast<std::size_t>(b[at + 2] << 8 | b[at + 3]);
    }
  }
  return false;
}

cv::Mat upright(const cv::Mat& image, int orientation) {
  cv::Mat out = image;
  if (orientation >= 5) {  // 5: transposed; 6: right is up; 7: transposed across; 8: left is up
    cv::transpose(image, out);
    const int flips[] = {2, 1, -1, 0};  // 2: none
    if (const int flip = flips[orientation - 5]; flip != 2) cv::flip(out, out, flip);
  } else if (orientation >= 2) {  // 2: mirrored; 3: turned by 180 degrees; 4: upside down
    const int flips[] = {1, -1, 0};
    cv::flip(image, out, flips[orientation - 2]);
  }
  return out;
}

cv::Mat eight_bits(const cv::Mat& image, const std::string& name) {
  if (image.depth() == CV_8U) return image;
  if (image.depth() == CV_32F || image.depth() == CV_64F) {
    fail(name, "expected pixels of 8 or 16 bits, found floating-point ones");
  }
  if (image.depth() != CV_16U) fail(name, "expected pixels of 8 or 16 bits, found another type");
  double largest = 0;
  cv::minMaxLoc(image.reshape(1), nullptr, &largest);
  const double range = largest > 4095 ? 65535 : largest > 255 ? 4095 : 255;
  cv::Mat out;
  image.convertTo(out, CV_8U, 255.0 / range);
  return out;
}

/// What libjpeg says of pixels that it had to make up; empty when it says nothing of the kind. Bytes between segments
/// do no harm.
std::string jpeg_damage(const std::string& messages) {
  const std::string corrupt = "Corrupt JPEG data: ", cut = "Premature end of JPEG file";
  if (messages.find(cut) != std::string::npos) return "the file ends too early";
  const auto at = messages.find(corrupt);
  if (at == std::string::npos || messages.find("extraneous bytes", at) != std::string::npos) return "";
  const auto from = at + corrupt.size();
  return messages.substr(from, messages.find('\n', from) - from);
}

/// TIFF has more kinds of pixels and compression than are read, so such a file need not be broken.
std::string undecodable(const std::string& format) {
  if (format != "TIFF") return "the " + format + " file is broken and cannot be decoded";
  return "the TIFF file cannot be decoded: it is broken, or stored in a way that is not read; save it with 8 or 16 "
         "bits per channel and a common compression";
}

}  // namespace

ImageHeader read_image_header(const std::filesystem::path& file, const ImageLimits& limits) {
  std::ifstream in = open_file(file);
  return checked_header(in, file.string(), limits);
}

cv::Mat read_image_file(const std::filesystem::path& file, const ImageLimits& limits) {
  std::ifstream in = open_file(file);
  return read_image(in, file.string(), limits);
}

cv::Mat read_image(std::istream& in, const std::string& name, const ImageLimits& limits) {
  const ImageHeader header = checked_header(in, name, limits);
  const auto bytes = all_bytes(in, name, limits);
  if (std::string(header.format) == "JPEG" && !jpeg_is_complete(bytes)) {
    fail(name, "the JPEG file breaks off before its end marker");
  }
  cv::Mat image;
  std::string damage;
  try {
    const DecoderMessages messages;
    image = cv::imdecode(bytes, cv::IMREAD_COLOR | cv::IMREAD_ANYDEPTH | cv::IMREAD_IGNORE_ORIENTATION);
    damage = jpeg_damage(messages.text());
  } catch (const cv::Exception& e) {
    fail(name, "the " + std::string(header.format) + " file cannot be decoded: " + e.err);
  }
  if (image.empty()) fail(name, undecodable(header.format));
  if (!damage.empty()) fail(name, "the pixels of the JPEG file are damaged: " + damage);
  if (image.cols != header.width || image.rows != header.height) {
    fail(name, "decoded to " + std::to_string(image.cols) + "x" + std::to_string(image.rows) +
                   " pixels, but the header says " + std::to_string(header.width) + "x" +
                   std::to_string(header.height));
  }
  image = eight_bits(image, name);
  cv::cvtColor(image, image, cv::COLOR_BGR2RGB);
  return upright(image, header.orientation);
}

}  // namespace bdc::host
