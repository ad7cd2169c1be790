#pragma once

/// The two networks as tables: what the official description files say, with the repeated blocks written once.

#include <cstdint>
#include <string>
#include <vector>

namespace yolov7 {

enum class Kind { conv, rep_conv, concat, max_pool, same_pool, upsample, sppcspc, detect };
enum class Activation { silu, leaky };  ///< leaky: slope 0.1

/// One layer. Its place in the table is the N of its parameter names, model.N.
struct LayerSpec {
  Kind kind = Kind::conv;
  std::vector<int> from;           ///< inputs: layers by number, or relative to this one when negative
  std::int64_t channels = 0;       ///< output channels of conv, rep_conv, sppcspc, before the width factor
  std::int64_t kernel = 1;         ///< conv, max_pool, same_pool (stride 1, same size)
  std::int64_t stride = 1;         ///< conv
  bool repeated_by_depth = false;  ///< a 3 x 3 convolution in the chain of an ELAN block
};

struct LayerTable {
  std::vector<LayerSpec> layers;  ///< the last one is `detect`, its inputs the levels of stride 8, 16, 32
  Activation activation = Activation::silu;
  std::vector<double> anchors;  ///< 18: w, h in pixels of the input; 3 per level, finest level first
};

[[nodiscard]] LayerTable full_table();
[[nodiscard]] LayerTable tiny_table();

/// "full" or "tiny"; throws std::invalid_argument for another name.
[[nodiscard]] LayerTable table_of(const std::string& variant);

}  // namespace yolov7
