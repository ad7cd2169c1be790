#include "doctor/checks.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "bdc/base/short_message.h"
#include "bdc/base/table.h"
#include "engine/checkpoint.h"
#include "engine/detector_handle.h"
#include "plugins/loaded_plugin.h"
#include "plugins/options.h"

namespace bdc::host {
namespace {

using plugin::Targets;
using torch::Tensor;

constexpr std::int64_t kClasses = 3;
constexpr std::int64_t kBatch = 2;
constexpr std::uint64_t kSeed = 7;

class Failed : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Not against the contract, but the author should know.
class Told : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool ok, const std::string& reason) {
  if (!ok) throw Failed(reason);
}

std::string sci(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

/// What the checks work on; grows as they pass.
struct Patient {
  std::filesystem::path file;
  Json given_options;
  std::optional<LoadedPlugin> plugin;
  plugin::DetectorConfig config;
  std::unique_ptr<DetectorHandle> detector;

  [[nodiscard]] std::unique_ptr<DetectorHandle> build(std::uint64_t seed = kSeed) const {
    return std::make_unique<DetectorHandle>(*plugin, config, seed);
  }
  [[nodiscard]] plugin::Images images(std::int64_t batch) const {
    plugin::Images out;
    out.pixels = torch::rand({batch, 3, config.input_size, config.input_size}, at::detail::createCPUGenerator(11));
    for (std::int64_t b = 0; b < batch; ++b) {
      out.meta.push_back({b, config.input_size, config.input_size, config.input_size, config.input_size, {}});
    }
    return out;
  }
  [[nodiscard]] Tensor boxes() const {
    const Tensor share =
        torch::tensor({0.10, 0.15, 0.55, 0.60, 0.50, 0.40, 0.95, 0.90, 0.20, 0.25, 0.70, 0.80}, torch::kFloat64);
    return (share.reshape({3, 4}) * static_cast<double>(config.input_size)).to(torch::kFloat32);
  }
  [[nodiscard]] static Tensor labels() { return torch::tensor({0, 1, 2}, torch::kInt64); }
  [[nodiscard]] static Tensor image_index() { return torch::tensor({0, 0, 1}, torch::kInt64); }
  [[nodiscard]] Targets targets() const { return Targets::hard(boxes(), labels(), image_index(), kClasses); }
  [[nodiscard]] static Targets no_targets() {
    const Tensor none = torch::zeros({0}, torch::kInt64);
    return Targets::hard(torch::zeros({0, 4}), none, none, kClasses);
  }
};

/// A loss and its gradient with respect to all parameters as one vector.
struct Pull {
  double loss = 0;
  Tensor gradient;
};

/// How the detector is when its loss is taken.
struct Condition {
  bool trains = true;
  std::uint64_t seed = kSeed;
};

/// Same random state, fresh activations, and the module's buffers put back afterwards, so that calls can be compared.
template <class LossFunction>
Pull pull_of(DetectorHandle& detector, const plugin::Images& images, const LossFunction& loss,
             const Condition& condition = {}) {
  torch::manual_seed(condition.seed);
  torch::nn::Module& module = detector.module();
  std::vector<std::pair<Tensor, Tensor>> buffers;
  for (const auto& b : module.buffers()) buffers.emplace_back(b, b.detach().clone());
  module.train(condition.trains);
  module.zero_grad();
  const auto activations = detector.forward(images);
  const plugin::LossTerms terms = loss(*activations);
  call_plugin("plugin '" + detector.name() + "'", "backward", [&] {
    if (terms.total.requires_grad()) terms.total.backward();
  });
  std::vector<Tensor> parts;
  for (const auto& p : module.parameters()) {
    if (!p.requires_grad()) continue;
    const Tensor none = torch::zeros({p.numel()}, torch::kFloat64);
    parts.push_back(p.grad().defined() ? p.grad().detach().flatten().to(torch::kFloat64) : none);
  }
  torch::NoGradGuard no_grad;
  for (auto& [live, saved] : buffers) live.copy_(saved);
  return {terms.total.item<double>(), parts.empty() ? torch::zeros({1}, torch::kFloat64) : torch::cat(parts)};
}

Pull soft_pull(DetectorHandle& detector, const plugin::Images& images, const Targets& targets,
               const Condition& condition = {}) {
  return pull_of(
      detector, images, [&](const plugin::Activations& a) { return detector.loss(a, targets); }, condition);
}

void require_sound(const Pull& pull, const std::string& when) {
  require(std::isfinite(pull.loss), "the loss is not finite " + when);
  require(torch::isfinite(pull.gradient).all().item<bool>(), "the gradient is not finite " + when);
}

double distance(const Tensor& a, const Tensor& b) {
  return (a - b).norm().item<double>();
}

// --- the checks ---

void loads(Patient& p) {
  p.plugin.emplace(LoadedPlugin::load(p.file));
}

void describes(Patient& p) {
  const auto info = p.plugin->detector_info();
  require(!info.version.empty(), "the version is empty");
  require(!info.description.empty() && info.description.find('\n') == std::string::npos,
          "the description must be one line");
  require(info.optimizer.kind == "sgd" || info.optimizer.kind == "adamw", "the optimiser must be sgd or adamw");
  require(info.optimizer.learning_rate > 0 && info.optimizer.batch_size > 0,
          "learning rate and batch size must be above 0");
  require(info.detections.min_score >= 0 && info.detections.min_score <= 1 && info.detections.nms_iou >= 0 &&
              info.detections.nms_iou <= 1 && info.detections.max_per_image > 0,
          "the limits of detections must be in 0..1, max_per_image above 0");
  for (const auto& option : info.options)
    require(!option.help.empty(), "option '" + option.name + "' has no help text");
  p.config = {kClasses, info.min_input_size, check_options(info.options, p.given_options, "options")};
}

void builds(Patient& p) {
  p.detector = p.build();
  require(!p.detector->module().parameters().empty(), "the module has no parameters");
  std::size_t grouped = 0, trainable = 0;
  for (const auto& group : p.detector->parameter_groups()) grouped += group.parameters.size();
  for (const auto& t : p.detector->module().parameters()) trainable += t.requires_grad() ? 1 : 0;
  require(grouped == trainable, "parameter_groups covers " + std::to_string(grouped) + " of " +
                                    std::to_string(trainable) + " trainable parameters");
}

void forward(Patient& p) {
  p.detector->module().train();
  (void)p.detector->forward(p.images(kBatch));
  torch::NoGradGuard no_grad;
  p.detector->module().eval();
  (void)p.detector->forward(p.images(kBatch));
}

void decodes(Patient& p) {
  torch::NoGradGuard no_grad;
  p.detector->module().eval();
  const auto activations = p.detector->forward(p.images(kBatch));
  const auto everything = p.detector->decode(*activations, {0.0, 0.9, 50}, kBatch);
  for (std::int64_t b = 0; b < kBatch; ++b) {
    const auto count = (everything.image_index == b).sum().item<std::int64_t>();
    require(count <= 50, "max_per_image 50 gave " + std::to_string(count) + " predictions in an image");
  }
  require(everything.scores.size(0) > 0, "min_score 0 gave no prediction at all");
  const auto nothing = p.detector->decode(*activations, {1.1, 0.5, 50}, kBatch);
  require(nothing.scores.size(0) == 0, "min_score 1.1 still gave predictions");
}

void detects(Patient& p) {
  torch::NoGradGuard no_grad;
  p.detector->module().eval();
  const auto activations = p.detector->forward(p.images(kBatch));
  const auto everything = p.detector->decode_detections(*activations, {0.0, 0.9, 50}, kBatch);
  for (std::int64_t b = 0; b < kBatch; ++b) {
    const auto count = (everything.image_index == b).sum().item<std::int64_t>();
    require(count <= 50, "max_per_image 50 gave " + std::to_string(count) + " detections in an image");
  }
  require(everything.scores.size(0) > 0, "min_score 0 gave no detection at all");
  const auto nothing = p.detector->decode_detections(*activations, {1.1, 0.5, 50}, kBatch);
  require(nothing.scores.size(0) == 0, "min_score 1.1 still gave detections");
}

void loss_finite(Patient& p) {
  require(std::isfinite(soft_pull(*p.detector, p.images(kBatch), p.targets()).loss), "the loss is not finite");
}

void differentiable(Patient& p) {
  const Pull pull = soft_pull(*p.detector, p.images(kBatch), p.targets());
  require_sound(pull, "for ordinary targets");
  require(pull.gradient.norm().item<double>() > 0, "no parameter gets a gradient");
}

void one_hot(Patient& p) {
  const auto images = p.images(kBatch);
  const Pull soft = soft_pull(*p.detector, images, p.targets());
  const Pull hard = pull_of(*p.detector, images, [&](const plugin::Activations& a) {
    return p.detector->hard_loss(a, {p.boxes(), Patient::labels(), Patient::image_index()});
  });
  const double off = std::fabs(soft.loss - hard.loss) / std::fmax(1e-12, std::fabs(hard.loss));
  require(off < 1e-5, "loss is " + sci(soft.loss) + ", hard_loss is " + sci(hard.loss));
  const double turn = distance(soft.gradient, hard.gradient) / std::fmax(1e-12, hard.gradient.norm().item<double>());
  require(turn < 1e-4, "the losses agree but their gradients differ by " + sci(100 * turn) + " %");
}

/// What changes when one target does.
struct Shift {
  double gradient = 0, loss = 0;
};

/// How far gradient and loss move when one target changes, with that target at weight `weight`.
Shift sensitivity(Patient& p, double weight, bool change_class) {
  Targets before = p.targets();
  before.weights[2] = weight;
  Targets after = before;
  if (change_class) {
    after.class_probs = before.class_probs.clone();
    after.class_probs[2].copy_(torch::tensor({1.0f, 0.0f, 0.0f}));
  } else {  // two per cent larger about its centre: too little to be given other cells or anchors
    after.boxes = before.boxes.clone();
    const Tensor margin = (after.boxes[2].slice(0, 2, 4) - after.boxes[2].slice(0, 0, 2)) * 0.01;
    after.boxes[2].slice(0, 0, 2) -= margin;
    after.boxes[2].slice(0, 2, 4) += margin;
  }
  const auto images = p.images(kBatch);
  const Pull a = soft_pull(*p.detector, images, before), b = soft_pull(*p.detector, images, after);
  return {distance(a.gradient, b.gradient), std::fabs(a.loss - b.loss)};
}

void zero_weight(Patient& p) {
  for (const bool change_class : {true, false}) {
    const std::string what = change_class ? "class" : "box";
    const Shift at_1 = sensitivity(p, 1, change_class), at_0 = sensitivity(p, 0, change_class);
    // The gradient of an absolute distance stays as it is when a box moves a little; its loss does not.
    const bool by_gradient = at_1.gradient > 0;
    const double full = by_gradient ? at_1.gradient : at_1.loss, none = by_gradient ? at_0.gradient : at_0.loss;
    require(full > 0, "even at weight 1 a target's " + what + " reaches neither the gradient nor the loss");
    require(none <= 0.05 * full,
            "at weight 0 a target's " + what + " still has " + fixed(100 * none / full, 0) + " % of its pull");
  }
}

void no_targets(Patient& p) {
  require_sound(soft_pull(*p.detector, p.images(kBatch), Patient::no_targets()), "without targets");
  Targets silent = p.targets();
  silent.weights.zero_();
  require_sound(soft_pull(*p.detector, p.images(kBatch), silent), "when all weights are 0");
}

void batch_of_one(Patient& p) {
  const Targets all = p.targets();
  const auto first = [](const Tensor& t) { return t.slice(0, 0, 1); };
  const Targets one{first(all.boxes), first(all.class_probs), first(all.weights), first(all.image_index)};
  require_sound(soft_pull(*p.detector, p.images(1), one), "for a batch of 1");
  torch::NoGradGuard no_grad;
  p.detector->module().eval();
  (void)p.detector->decode(*p.detector->forward(p.images(1)), {}, 1);
}

void deterministic(Patient& p) {
  const auto images = p.images(kBatch);
  const auto first = p.build(), second = p.build();
  const auto a = module_state(first->module()), b = module_state(second->module());
  for (const auto& [name, tensor] : a) {
    require(b.count(name) == 1 && torch::equal(tensor, b.at(name)),
            "two builds with the same seed differ in '" + name + "'");
  }
  const Pull once = soft_pull(*first, images, p.targets()), again = soft_pull(*first, images, p.targets());
  require(once.loss == again.loss, "the same step twice gave the losses " + sci(once.loss) + " and " + sci(again.loss));
  require(torch::equal(once.gradient, again.gradient), "the same step twice gave different gradients");
  require(once.loss == soft_pull(*second, images, p.targets()).loss,
          "two builds with the same seed gave different losses");
}

/// What the detector predicts in evaluation mode, to compare detectors by.
Tensor prediction_table(DetectorHandle& detector, const plugin::Images& images) {
  torch::NoGradGuard no_grad;
  detector.module().eval();
  const auto predictions = detector.decode(*detector.forward(images), {0.0, 0.9, 50}, kBatch);
  return torch::cat({predictions.boxes, predictions.scores.unsqueeze(1), predictions.class_probs}, 1);
}

void state_round_trip(Patient& p) {
  const auto images = p.images(kBatch);
  const auto source = p.build(1), copy = p.build(2);
  load_module_state(copy->module(), module_state(source->module()));
  require(torch::equal(prediction_table(*source, images), prediction_table(*copy, images)),
          "a detector with the same parameters and buffers predicts differently: it keeps state outside module()");
}

void threads(Patient& p) {
  const auto images = p.images(kBatch);
  const Tensor here = prediction_table(*p.detector, images);
  Tensor there;
  std::string error;
  std::thread([&] {
    try {
      there = prediction_table(*p.detector, images);
    } catch (const std::exception& e) {
      error = e.what();
    }
  }).join();
  require(error.empty(), "in another thread: " + error);
  require(torch::equal(here, there), "another thread gets different predictions");
}

/// Of a batch, what a rank that has image `b` alone sees of it.
std::pair<plugin::Images, Targets> share_of(const plugin::Images& images, const Targets& targets, std::int64_t b) {
  const Tensor rows = (targets.image_index == b).nonzero().squeeze(1);
  const auto mine = [&](const Tensor& t) { return t.index_select(0, rows); };
  return {{images.pixels.slice(0, b, b + 1), {images.meta[static_cast<std::size_t>(b)]}},
          {mine(targets.boxes), mine(targets.class_probs), mine(targets.weights), torch::zeros_like(rows)}};
}

/// Loss and gradient as two ranks make them, each of one image: the mean of theirs. Batch norm stays as it is, as its
/// statistics belong to `train.sync_batchnorm`.
Pull pull_of_two_ranks(DetectorHandle& detector, const plugin::Images& images, const Targets& targets,
                       std::uint64_t seed) {
  // One after the other: in the first round they say their counts, in the second they are told the sums.
  std::vector<std::vector<double>> asked[kBatch];
  Pull pulls[kBatch];
  for (const bool is_told : {false, true}) {
    for (std::int64_t r = 0; r < kBatch; ++r) {
      std::size_t question = 0;
      detector.use_counts({static_cast<int>(kBatch), [&, r](Span<double> counts) {
                             if (!is_told) return asked[r].emplace_back(counts.begin(), counts.end()), void();
                             for (std::size_t n = 0; n < counts.size(); ++n) {
                               counts[n] = asked[0].at(question)[n] + asked[1].at(question)[n];
                             }
                             ++question;
                           }});
      const auto [mine, wanted] = share_of(images, targets, r);
      pulls[r] = soft_pull(detector, mine, wanted, {false, seed});
    }
    const auto as_many = [](const auto& a, const auto& b) { return a.size() == b.size(); };
    require(std::equal(asked[0].begin(), asked[0].end(), asked[1].begin(), asked[1].end(), as_many),
            "the loss asks for other counts (SharedCounts) for one image than for another");
  }
  return {(pulls[0].loss + pulls[1].loss) / 2, (pulls[0].gradient + pulls[1].gradient) / 2};
}

/// How far apart two pulls are, as shares of the first one.
double difference(const Pull& a, const Pull& b) {
  return std::fmax(std::fabs(a.loss - b.loss) / std::fmax(1e-12, std::fabs(a.loss)),
                   distance(a.gradient, b.gradient) / std::fmax(1e-12, a.gradient.norm().item<double>()));
}

void ranks(Patient& p) {
  const auto images = p.images(kBatch);
  const Targets targets = p.targets();  // two in one image, one in the other
  const auto detector = p.build();
  const Pull whole = soft_pull(*detector, images, targets, {false, kSeed});
  // A loss that draws samples draws others for parts of a batch: it may differ as much as from draw to draw.
  double chance = 0;
  for (const std::uint64_t seed : {kSeed + 1, kSeed + 2}) {
    chance = std::fmax(chance, difference(whole, soft_pull(*detector, images, targets, {false, seed})));
  }
  const double off = difference(whole, pull_of_two_ranks(*detector, images, targets, kSeed));
  if (off <= std::fmax(1e-4, 3 * chance)) return;
  const std::string by = " by " + fixed(100 * off, 2) + " % from what one process learns from the whole batch";
  require(!detector->shares_batches(), "what two processes learn from a batch differs" + by +
                                           ": some sum is not divided by SharedCounts::divisor (bdc/plugin/ranks.h)");
  throw Told("in several processes, what is learnt from a batch differs" + by +
             ": the loss is divided by counts of a process's own images\n  advice: to train in several processes as in "
             "one, derive from SharesBatches and divide by its counts (bdc/plugin/ranks.h)");
}

struct Check {
  CheckInfo info;
  void (*run)(Patient&);
  bool ends_all;  // without it nothing else can be checked
};

const std::vector<Check>& checks() {
  static const std::vector<Check> all = {
      {{"loads", "its note and descriptor fit this host"}, loads, true},
      {{"describes itself", "version, sizes, options whose defaults are allowed"}, describes, true},
      {{"builds", "a detector whose parameters are all in a group"}, builds, true},
      {{"forward", "runs in training and in evaluation mode"}, forward, true},
      {{"decode", "shapes, ranges and limits of predictions"}, decodes, false},
      {{"detections", "labels, ranges and limits of detections"}, detects, false},
      {{"loss finite", "the loss of ordinary targets is finite"}, loss_finite, false},
      {{"differentiable", "finite gradients reach the parameters"}, differentiable, false},
      {{"one-hot is hard", "one-hot and weight 1 give exactly hard_loss"}, one_hot, false},
      {{"weight 0", "a target of weight 0 has no pull"}, zero_weight, false},
      {{"no targets", "a batch without targets has a finite loss"}, no_targets, false},
      {{"batch of 1", "one image is enough"}, batch_of_one, false},
      {{"deterministic", "one seed, the same bits"}, deterministic, false},
      {{"state round trip", "all state is in module()"}, state_round_trip, false},
      {{"threads", "works in a thread other than the one it was built in"}, threads, false},
      {{"ranks", "two processes learn from a batch what one does"}, ranks, false},
  };
  return all;
}

}  // namespace

const std::vector<CheckInfo>& doctor_checks() {
  static const std::vector<CheckInfo> infos = [] {
    std::vector<CheckInfo> out;
    for (const auto& check : checks()) out.push_back(check.info);
    return out;
  }();
  return infos;
}

void run_checks(const std::filesystem::path& file, const Json& options,
                const std::function<void(const std::string&)>& starting,
                const std::function<void(const CheckResult&)>& finished) {
  Patient patient{file, options, {}, {}, {}};
  std::string lost;
  for (const auto& check : checks()) {
    CheckResult result;
    result.name = check.info.name;
    if (!lost.empty()) {
      result.reason = "needs '" + lost + "'";
      finished(result);
      continue;
    }
    starting(result.name);
    try {
      check.run(patient);
      result.status = CheckResult::Status::passed;
    } catch (const Told& e) {
      result = {check.info.name, check.info.law, CheckResult::Status::told, e.what(), 0};
    } catch (const UserError& e) {
      result = {check.info.name, check.info.law, CheckResult::Status::failed, e.what(), static_cast<int>(e.code())};
    } catch (const std::exception& e) {
      result = {check.info.name, check.info.law, CheckResult::Status::failed, short_message(e), 1};
    }
    if (result.status == CheckResult::Status::failed && check.ends_all) lost = check.info.name;
    finished(result);
  }
}

}  // namespace bdc::host
