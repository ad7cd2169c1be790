// How fast the YOLOv7 network is, without data, assignment and loss. bench/yolov7_speed.py is the same network in
// Python; `bench/yolov7.sh` runs the two in turns.
//
//   bdc-bench-yolov7 layers VARIANT                     the layer table as JSON, for the Python program
//   bdc-bench-yolov7 time VARIANT EDGE BATCH THREADS    milliseconds of one pass, the best of several

#include <torch/nn.h>
#include <torch/utils.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "yolov7/network.h"

namespace {

constexpr int kClasses = 20, kRepeats = 5;

const char* word(yolov7::Kind kind) {
  switch (kind) {
    case yolov7::Kind::conv:
      return "conv";
    case yolov7::Kind::rep_conv:
      return "rep_conv";
    case yolov7::Kind::concat:
      return "concat";
    case yolov7::Kind::max_pool:
      return "max_pool";
    case yolov7::Kind::same_pool:
      return "same_pool";
    case yolov7::Kind::upsample:
      return "upsample";
    case yolov7::Kind::sppcspc:
      return "sppcspc";
    case yolov7::Kind::detect:
      return "detect";
  }
  return "";
}

void print_layers(const yolov7::LayerTable& table) {
  nlohmann::json out = {{"activation", table.activation == yolov7::Activation::silu ? "silu" : "leaky"},
                        {"classes", kClasses}};
  for (const auto& layer : table.layers) {
    out["layers"].push_back({{"kind", word(layer.kind)},
                             {"from", layer.from},
                             {"channels", layer.channels},
                             {"kernel", layer.kernel},
                             {"stride", layer.stride}});
  }
  std::printf("%s\n", out.dump().c_str());
}

double best_milliseconds(const std::function<void()>& pass) {
  pass();
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepeats; ++i) {
    const auto from = std::chrono::steady_clock::now();
    pass();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count());
  }
  return best;
}

torch::Tensor sum_of_squares(const yolov7::Heads& heads) {
  torch::Tensor sum = torch::zeros({});
  for (const auto& level : heads.levels) sum = sum + level.raw.square().mean();
  return sum;
}

void time_network(const yolov7::LayerTable& table, std::int64_t edge, std::int64_t batch) {
  torch::manual_seed(1);
  yolov7::Network net(table, kClasses, 1.0, 1.0, table.anchors);
  const auto pixels = torch::rand({batch, 3, edge, edge});
  net.train();
  const double train = best_milliseconds([&] {
    net.zero_grad();
    sum_of_squares(*net.forward(pixels)).backward();
  });
  net.eval();
  torch::NoGradGuard no_grad;
  const double plain = best_milliseconds([&] { (void)net.forward(pixels); });
  net.fuse();
  net.eval();
  const double fused = best_milliseconds([&] { (void)net.forward(pixels); });
  std::printf("%.1f %.1f %.1f\n", train, plain, fused);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  if (verb == "layers" && argc == 3) {
    print_layers(yolov7::table_of(argv[2]));
    return 0;
  }
  if (verb == "time" && argc == 6) {
    torch::set_num_threads(std::stoi(argv[5]));
    time_network(yolov7::table_of(argv[2]), std::stoll(argv[3]), std::stoll(argv[4]));
    return 0;
  }
  std::fprintf(stderr, "bdc-bench-yolov7 layers VARIANT | time VARIANT EDGE BATCH THREADS\n");
  return 2;
}
