// bdc-step: what one forward pass and one training step of a detector cost.
//   bdc-step PLUGIN.so [--input N] [--classes N] [--batch N] [--steps N] [-o KEY=VALUE]...
// Builds the detector, predicts, trains on two boxes per image with AdamW, and prints parameters, seconds and the
// process's largest resident set after each stage.
#include <sys/resource.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "bdc/base/user_error.h"
#include "engine/detector_handle.h"
#include "engine/optimizer.h"
#include "plugins/options.h"

namespace {

using namespace bdc::host;
namespace plugin = bdc::plugin;

struct Request {
  std::string file;
  std::int64_t input = 0, classes = 80, batch = 1, steps = 1;
  Json options = Json::object();
};

Request read_words(int count, char** words) {
  Request out;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto next = [&] {
      if (++i >= count) throw std::invalid_argument(word + ": a value is missing");
      return std::string(words[i]);
    };
    if (word == "--input") {
      out.input = std::stoll(next());
    } else if (word == "--classes") {
      out.classes = std::stoll(next());
    } else if (word == "--batch") {
      out.batch = std::stoll(next());
    } else if (word == "--steps") {
      out.steps = std::stoll(next());
    } else if (word == "-o") {
      const std::string set = next();
      const auto equals = set.find('=');
      if (equals == std::string::npos) throw std::invalid_argument("-o " + set + ": expected KEY=VALUE");
      const std::string value = set.substr(equals + 1);
      const Json parsed = Json::parse(value, nullptr, false);
      out.options[set.substr(0, equals)] = parsed.is_discarded() ? Json(value) : parsed;
    } else {
      out.file = word;
    }
  }
  if (out.file.empty()) throw std::invalid_argument("name a plugin's file, such as build/plugins/eva.so");
  return out;
}

/// Seconds of `work` and the largest resident set so far.
template <class Work>
void stage(const char* name, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-22s %8.1f s   peak %6.2f GB\n", name, seconds, static_cast<double>(usage.ru_maxrss) / 1048576.0);
  std::fflush(stdout);
}

void run(const Request& request) {
  const LoadedPlugin library = LoadedPlugin::load(request.file);
  const plugin::DetectorInfo info = library.detector_info();
  const std::int64_t edge = request.input > 0 ? request.input : info.input_size;
  std::unique_ptr<DetectorHandle> detector;
  stage("build", [&] {
    detector = std::make_unique<DetectorHandle>(
        library, plugin::DetectorConfig{request.classes, edge, check_options(info.options, request.options, "options")},
        1);
  });
  std::int64_t weights = 0;
  for (const auto& p : detector->module().parameters()) weights += p.numel();
  std::printf("%s: %lld parameters, input %lld, batch %lld\n", library.name().c_str(), static_cast<long long>(weights),
              static_cast<long long>(edge), static_cast<long long>(request.batch));

  plugin::Images images;
  images.pixels = torch::rand({request.batch, 3, edge, edge});
  for (std::int64_t b = 0; b < request.batch; ++b) images.meta.push_back({b, edge, edge, edge, edge, {}});
  const auto e = static_cast<float>(edge);
  const auto boxes = (torch::tensor({0.1F, 0.2F, 0.5F, 0.6F, 0.4F, 0.3F, 0.9F, 0.8F}).view({2, 4}) * e);
  const auto owner = torch::arange(request.batch, torch::kInt64).repeat_interleave(2);
  const auto labels = torch::remainder(torch::arange(2 * request.batch, torch::kInt64), request.classes);
  const auto targets = plugin::Targets::hard(boxes.repeat({request.batch, 1}), labels, owner, request.classes);

  stage("forward and decode", [&] {
    torch::NoGradGuard no_grad;
    detector->module().eval();
    (void)detector->decode(*detector->forward(images), {}, request.batch);
  });
  detector->module().train();
  OptimizerSettings settings;
  settings.kind = "adamw";
  settings.weight_decay = info.optimizer.weight_decay;
  Optimizer optimizer(detector->parameter_groups(), settings);
  for (std::int64_t s = 0; s < request.steps; ++s) {
    plugin::LossTerms terms;
    {
      std::unique_ptr<plugin::Activations> activations;
      stage("training: forward", [&] { activations = detector->forward(images); });
      stage("training: loss", [&] { terms = detector->loss(*activations, targets); });
      stage("training: backward", [&] {
        optimizer.zero_grad();
        terms.total.backward();
      });
    }
    stage("training: AdamW", [&] { (void)optimizer.step(info.optimizer.learning_rate); });
    std::printf("loss %.4f\n", terms.total.item<double>());
  }
}

}  // namespace

int main(int count, char** words) {
  try {
    run(read_words(count, words));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bdc-step: %s\n", e.what());
    return 1;
  }
}
