#include "yolov7/layer_table.h"

#include <stdexcept>

namespace yolov7 {
namespace {

/// Appends layers and returns the number of the last one.
class Builder {
 public:
  int conv(std::int64_t channels, std::int64_t kernel = 1, std::int64_t stride = 1, int from = -1) {
    return add({Kind::conv, {from}, channels, kernel, stride, false});
  }
  int rep_conv(std::int64_t channels, int from) { return add({Kind::rep_conv, {from}, channels, 3, 1, false}); }
  int concat(std::vector<int> from) { return add({Kind::concat, std::move(from), 0, 1, 1, false}); }
  int max_pool() { return add({Kind::max_pool, {-1}, 0, 2, 2, false}); }
  int same_pool(std::int64_t kernel) { return add({Kind::same_pool, {-1}, 0, kernel, 1, false}); }
  int upsample() { return add({Kind::upsample, {-1}, 0, 1, 1, false}); }
  int sppcspc(std::int64_t channels) { return add({Kind::sppcspc, {-1}, channels, 1, 1, false}); }
  int detect(std::vector<int> from) { return add({Kind::detect, std::move(from), 0, 1, 1, false}); }

  /// Two 1 x 1 branches of `branch` channels, a chain of `length` 3 x 3 convolutions of `width` channels on the second,
  /// the outputs `taps` (counted back from the end of the chain) joined, a 1 x 1 convolution to `out`.
  int elan(std::int64_t branch, std::int64_t width, int length, std::vector<int> taps, std::int64_t out) {
    conv(branch);
    conv(branch, 1, 1, -2);
    for (int i = 0; i < length; ++i) add({Kind::conv, {-1}, width, 3, 1, true});
    concat(std::move(taps));
    return conv(out);
  }
  /// Half the size by a pooled and by a strided branch, joined, with layer `extra` if it is not negative.
  int halve(std::int64_t channels, int extra = -1) {
    max_pool();
    conv(channels);
    conv(channels, 1, 1, -3);
    conv(channels, 3, 2);
    return concat(extra < 0 ? std::vector<int>{-1, -3} : std::vector<int>{-1, -3, extra});
  }
  /// Doubles the size of the last output and joins it with layer `lateral`, both brought to `channels`.
  int rise(std::int64_t channels, int lateral) {
    conv(channels);
    upsample();
    conv(channels, 1, 1, lateral);
    return concat({-1, -2});
  }

  std::vector<LayerSpec> layers;

 private:
  int add(LayerSpec layer) {
    layers.push_back(std::move(layer));
    return static_cast<int>(layers.size()) - 1;
  }
};

}  // namespace

LayerTable full_table() {
  Builder b;
  const auto backbone = [&](std::int64_t c, std::int64_t out) { return b.elan(c, c, 4, {-1, -3, -5, -6}, out); };
  const auto head = [&](std::int64_t c) { return b.elan(c, c / 2, 4, {-1, -2, -3, -4, -5, -6}, c); };
  b.conv(32, 3);
  b.conv(64, 3, 2);
  b.conv(64, 3);
  b.conv(128, 3, 2);
  backbone(64, 256);
  b.halve(128);
  const int c3 = backbone(128, 512);
  b.halve(256);
  const int c4 = backbone(256, 1024);
  b.halve(512);
  backbone(256, 1024);
  const int p5 = b.sppcspc(512);
  b.rise(256, c4);
  const int p4 = head(256);
  b.rise(128, c3);
  const int n3 = head(128);
  b.halve(128, p4);
  const int n4 = head(256);
  b.halve(256, p5);
  const int n5 = head(512);
  const int out3 = b.rep_conv(256, n3), out4 = b.rep_conv(512, n4), out5 = b.rep_conv(1024, n5);
  b.detect({out3, out4, out5});
  return {std::move(b.layers),
          Activation::silu,
          {12, 16, 19, 36, 40, 28, 36, 75, 76, 55, 72, 146, 142, 110, 192, 243, 459, 401}};
}

LayerTable tiny_table() {
  Builder b;
  const auto elan = [&](std::int64_t c, std::int64_t out) { return b.elan(c, c, 2, {-1, -2, -3, -4}, out); };
  b.conv(32, 3, 2);
  b.conv(64, 3, 2);
  elan(32, 64);
  b.max_pool();
  const int c3 = elan(64, 128);
  b.max_pool();
  const int c4 = elan(128, 256);
  b.max_pool();
  elan(256, 512);
  b.conv(256);
  b.conv(256, 1, 1, -2);
  // Maxima over 5, 9 and 13 cells: a maximum over 9 is one over 5 of those over 5.
  b.same_pool(5);
  b.same_pool(5);
  b.same_pool(5);
  b.concat({-1, -2, -3, -4});
  b.conv(256);
  b.concat({-1, -7});
  const int p5 = b.conv(256);
  b.rise(128, c4);
  const int p4 = elan(64, 128);
  b.rise(64, c3);
  const int n3 = elan(32, 64);
  b.conv(128, 3, 2);
  b.concat({-1, p4});
  const int n4 = elan(64, 128);
  b.conv(256, 3, 2);
  b.concat({-1, p5});
  const int n5 = elan(128, 256);
  const int out3 = b.conv(128, 3, 1, n3), out4 = b.conv(256, 3, 1, n4), out5 = b.conv(512, 3, 1, n5);
  b.detect({out3, out4, out5});
  return {std::move(b.layers),
          Activation::leaky,
          {10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326}};
}

LayerTable table_of(const std::string& variant) {
  if (variant == "full") return full_table();
  if (variant == "tiny") return tiny_table();
  throw std::invalid_argument("option 'variant': expected full or tiny, found '" + variant + "'");
}

}  // namespace yolov7
