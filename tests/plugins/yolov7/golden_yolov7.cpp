#include "plugins/yolov7/golden_yolov7.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "yolov7/layer_table.h"

namespace yolov7_golden {
namespace {

/// The CRC of PNG and zlib.
std::uint32_t crc32(const std::string& text) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int k = 0; k < 8; ++k) c = (c & 1U) != 0 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
      out[n] = c;
    }
    return out;
  }();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : text) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFFU] ^ (crc >> 8);
  return crc ^ 0xFFFFFFFFU;
}

std::uint32_t mixed(std::uint32_t i, std::uint32_t crc) {
  std::uint32_t h = i * 2654435761U + crc;
  h ^= h >> 16;
  h *= 0x85ebca6bU;
  h ^= h >> 13;
  h *= 0xc2b2ae35U;
  return h ^ (h >> 16);
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void fill_one(Tensor tensor, const std::string& name, const std::string& rule, double hash_gain) {
  const std::uint32_t crc = crc32(name);
  const double phase = static_cast<double>(crc % 1000) * 0.01;
  const bool sine = rule == "sine";
  double fan_in = 1;
  for (std::int64_t d = 1; d < tensor.dim(); ++d) fan_in *= static_cast<double>(tensor.size(d));
  const double spread = std::sqrt((sine ? 2.0 : hash_gain) / fan_in);
  float* out = tensor.data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const double s = sine ? std::sin(0.37 * static_cast<double>(i) + phase)
                          : mixed(static_cast<std::uint32_t>(i), crc) / 2147483648.0 - 1.0;
    double value = 0.05 * s;
    if (ends_with(name, "running_var")) {
      value = 1 + 0.2 * std::abs(s);
    } else if (tensor.dim() > 1) {
      value = s * spread;
    } else if (ends_with(name, "weight")) {
      value = 1 + 0.1 * s;
    }
    out[i] = static_cast<float>(value);
  }
}

}  // namespace

json file(const std::string& name) {
  const std::string path = std::string(BDC_TEST_DATA) + "/golden/detectors/" + name;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot open " + path);
  return json::parse(in);
}

std::shared_ptr<yolov7::Network> network(const json& golden) {
  const bool tiny = golden.at("model").get<std::string>().find("tiny") != std::string::npos;
  std::vector<double> anchors;
  for (const auto& level : golden.at("anchors_pixels")) {
    for (const auto& number : level) anchors.push_back(number);
  }
  auto net = std::make_shared<yolov7::Network>(tiny ? yolov7::tiny_table() : yolov7::full_table(),
                                               golden.at("nc").get<std::int64_t>(), 1.0, 1.0, anchors);
  net->eval();
  return net;
}

void fill(yolov7::Network& net, const std::string& rule, const json& golden) {
  torch::NoGradGuard no_grad;
  const double gain = golden.at("hash_gain");
  for (auto& item : net.named_parameters()) fill_one(item.value(), item.key(), rule, gain);
  for (auto& item : net.named_buffers()) {
    const bool constant = golden.at("constant_tensors").contains(item.key());
    if (!constant && item.value().is_floating_point()) fill_one(item.value(), item.key(), rule, gain);
  }
}

Tensor image(const std::string& rule, const std::vector<std::int64_t>& shape) {
  Tensor out = torch::empty(shape, torch::kFloat32);
  const std::uint32_t crc = crc32("image");
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const double value = rule == "sine" ? 0.5 + 0.5 * std::sin(0.013 * static_cast<double>(i))
                                        : mixed(static_cast<std::uint32_t>(i), crc) / 4294967296.0;
    out.data_ptr<float>()[i] = static_cast<float>(value);
  }
  return out;
}

Tensor in_file_order(const yolov7::Heads& heads, std::size_t level, const Tensor& rows) {
  const auto& l = heads.levels[level];
  return rows.view({heads.batch, 3, l.height, l.width, rows.size(1)});
}

double tolerance_of(const json& summary) {
  const double largest = std::max(std::abs(summary.at("min").get<double>()), std::abs(summary.at("max").get<double>()));
  return std::max(20 * summary.at("max_abs_diff_f64").get<double>(), 1e-6 * largest);
}

void expect_summary(const Tensor& actual, const json& summary, double tolerance, const std::string& what) {
  SCOPED_TRACE(what);
  ASSERT_EQ(actual.sizes().vec(), summary.at("shape").get<std::vector<std::int64_t>>());
  const Tensor flat = actual.detach().contiguous().flatten();
  const auto n = flat.numel();
  const auto& samples = summary.at("samples");
  const auto count = static_cast<std::int64_t>(samples.size());
  double worst = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t at = n <= count ? k : k * (n - 1) / (count - 1);
    const double off =
        std::abs(static_cast<double>(flat.data_ptr<float>()[at]) - samples[static_cast<std::size_t>(k)].get<double>());
    worst = std::isfinite(off) ? std::max(worst, off) : INFINITY;
  }
  EXPECT_LE(worst, tolerance) << "largest error of " << count << " samples";
  const Tensor wide = flat.to(torch::kFloat64);
  const auto number = [&](const char* key) { return summary.at(key).get<double>(); };
  const double sums = tolerance * static_cast<double>(n) + 1e-8 * number("abs_sum");
  EXPECT_NEAR(wide.sum().item<double>(), number("sum"), sums);
  EXPECT_NEAR(wide.abs().sum().item<double>(), number("abs_sum"), sums);
  if (!summary.contains("min")) return;
  EXPECT_NEAR(wide.min().item<double>(), number("min"), tolerance);
  EXPECT_NEAR(wide.max().item<double>(), number("max"), tolerance);
}

::testing::AssertionResult relative(double actual, double expected, double tolerance) {
  if (std::abs(actual - expected) <= tolerance * std::abs(expected)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << actual << " is not " << expected << " within " << tolerance << " of it";
}

std::vector<CaseName> all_cases() {
  std::vector<CaseName> out;
  for (const std::string name : {"yolov7_tiny.json", "yolov7.json"}) {
    const json golden = file(name);
    for (std::size_t i = 0; i < golden.at("cases").size(); ++i) {
      const json& c = golden["cases"][i];
      out.push_back({name, i,
                     (name == "yolov7.json" ? "full_" : "tiny_") + c.at("name").get<std::string>() + "_" +
                         c.at("weights").get<std::string>()});
    }
  }
  return out;
}

Case::Case(const CaseName& name) : golden(file(name.file)), data(golden.at("cases").at(name.index)) {
  torch::manual_seed(1);
  net = network(golden);
  fill(*net, data.at("weights"), golden);
  pixels = image(data.at("image"), data.at("input_shape").get<std::vector<std::int64_t>>());
  const auto& first = data.at("image_first_values");
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_NEAR(pixels.data_ptr<float>()[i], first[i].get<double>(), 1e-7) << "image value " << i;
  }
}

}  // namespace yolov7_golden
