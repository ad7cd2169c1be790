// bdc-frcnn-bench: one training step and one prediction of Faster R-CNN (ResNet-50, 21 outputs) on two images, to be
// held against bench/frcnn_torchvision.py, which does the same in Python with the same weights, images, targets, seed
// and threads; `bench/frcnn.sh` runs the two in turns. predict folds the norms into the convolutions, as the host
// does; unfolded does not. `bdc-frcnn-bench crowd`: see frcnn_crowd.h.
//
// bdc-frcnn-bench [train|predict|unfolded|crowd] [--size N] [--threads N] [--repeat N]
#include <sys/resource.h>
#include <torch/nn.h>
#include <torch/optim.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "frcnn/decode.h"
#include "frcnn/loss.h"
#include "frcnn_crowd.h"
#include "support/golden_fill.h"

namespace {

using torch::Tensor;

/// The hash rule of the golden files with gain 3: weights from names.
void fill(const std::string& name, const Tensor& tensor) {
  golden::fill_one(tensor, name, "hash", 3.0);
}

struct Clock {
  double wall, processor;
};

Clock now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(wall).count(), seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

/// Best wall and processor time of several calls, after one whose time does not count.
Clock best_of(int repeat, const std::function<void()>& work) {
  work();
  Clock best{1e30, 1e30};
  for (int r = 0; r < repeat; ++r) {
    const Clock before = now();
    work();
    const Clock after = now();
    best = {std::min(best.wall, after.wall - before.wall),
            std::min(best.processor, after.processor - before.processor)};
  }
  return best;
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void detector(const std::string& what, std::int64_t size, int repeat) {
  frcnn::NetworkOptions options;
  options.backbone.norm_eps = 0;
  options.transform = {size, size};
  const auto net = std::make_shared<frcnn::Network>(20, options);
  {
    torch::NoGradGuard no_grad;
    for (auto& item : net->named_parameters()) fill(item.key(), item.value());
    for (auto& item : net->named_buffers()) fill(item.key(), item.value());
  }
  Tensor pixels = torch::empty({2, 3, size, size});
  for (std::int64_t b = 0; b < 2; ++b) {
    const std::uint32_t crc = golden::crc32("image" + std::to_string(b));
    float* out = pixels[b].data_ptr<float>();
    for (std::int64_t i = 0; i < 3 * size * size; ++i)
      out[i] = static_cast<float>(golden::hashed(i, crc) / 4294967296.0);
  }
  const std::vector<frcnn::ImageSize> contents(2, {size, size});
  const auto s = static_cast<float>(size);
  const Tensor boxes = torch::tensor({{0.1F * s, 0.12F * s, 0.4F * s, 0.5F * s},
                                      {0.5F * s, 0.3F * s, 0.9F * s, 0.95F * s},
                                      {0.07F * s, 0.2F * s, 0.7F * s, 0.8F * s}});
  const Tensor labels = torch::tensor({1, 3, 7}, torch::kInt64), image = torch::tensor({0, 0, 1}, torch::kInt64);
  Clock best{};
  double checked = -1;  // of the first call: later ones see other weights
  if (what == "train") {
    const auto targets = bdc::plugin::Targets::hard(boxes, labels, image, 20);
    std::vector<Tensor> learning;
    for (auto& p : net->parameters()) {
      if (p.requires_grad()) learning.push_back(p);
    }
    torch::optim::SGD optimizer(learning, torch::optim::SGDOptions(1e-9).momentum(0.9));
    const frcnn::LossOptions loss_options;
    best = best_of(repeat, [&] {
      torch::manual_seed(1);
      optimizer.zero_grad();
      const auto scene = net->forward(pixels, contents);
      const auto terms = frcnn::soft_loss(*net, *scene, targets, loss_options);
      terms.total.backward();
      optimizer.step();
      if (checked < 0) checked = terms.total.item<double>();
    });
  } else {
    torch::NoGradGuard no_grad;
    net->eval();
    if (what == "predict") net->fold();
    best = best_of(repeat, [&] {
      const auto scene = net->forward(pixels, contents);
      const auto seen = frcnn::predictions(*net, *scene, {1000, 1000, 0.7, 1e-3}, {0.05, 0.5, 100});
      checked = seen.scores.max().item<double>();
    });
  }
  std::printf("ours %s %lld wall %.3f processor %.3f peak %.0f MB value %.6f\n", what.c_str(),
              static_cast<long long>(size), best.wall, best.processor, peak_megabytes(), checked);
}

}  // namespace

int main(int argc, char** argv) {
  std::string what = "train";
  std::int64_t size = 320;
  int repeat = 5;
  for (int a = 1; a < argc; ++a) {
    const std::string word = argv[a];
    const bool has_value = a + 1 < argc;
    if (word == "--size" && has_value) {
      size = std::atoi(argv[++a]);
    } else if (word == "--threads" && has_value) {
      torch::set_num_threads(std::atoi(argv[++a]));
    } else if (word == "--repeat" && has_value) {
      repeat = std::max(1, std::atoi(argv[++a]));
    } else if (word == "train" || word == "predict" || word == "unfolded" || word == "crowd") {
      what = word;
    } else {
      std::fprintf(stderr, "bdc-frcnn-bench: not understood: %s\n", word.c_str());
      return 2;
    }
  }
  what == "crowd" ? crowd_steps(20 * repeat) : detector(what, size, repeat);
  return 0;
}
