// A batch that several ranks share gives the loss and the gradient of one process with the whole batch.

#include "engine/shared_batch.h"

#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <memory>

#include "bdc/base/user_error.h"
#include "engine/detector_handle.h"
#include "engine/weight_updater.h"
#include "host/engine/thread_ranks.h"
#include "plugins/loaded_plugin.h"
#include "plugins/options.h"

namespace bdc::host {
namespace {

TEST(SharesOf, AreConsecutiveAndOfEqualSizeOrOneMore) {
  const std::vector<std::vector<std::int64_t>> lists{{7, 3, 5, 1, 2}, {4}};
  EXPECT_EQ(shares_of(lists, 0, 1), lists);
  EXPECT_EQ(shares_of(lists, 0, 2), (std::vector<std::vector<std::int64_t>>{{7, 3, 5}, {4}}));
  EXPECT_EQ(shares_of(lists, 1, 2), (std::vector<std::vector<std::int64_t>>{{1, 2}, {}}));
  EXPECT_EQ(shares_of(lists, 2, 3), (std::vector<std::vector<std::int64_t>>{{2}, {}}));
}

struct Example {
  std::string plugin;
  Json options;
};

void PrintTo(const Example& example, std::ostream* out) {
  *out << example.plugin;
}

constexpr std::int64_t kSize = 64, kClasses = 3;

/// Four images: three targets, none, one and five, with soft classes and unequal weights.
struct Scene {
  plugin::Targets targets;
  torch::Tensor pixels;
};

Scene scene_of(std::uint64_t seed, torch::Dtype type = torch::kFloat32) {
  torch::manual_seed(seed);
  const torch::Tensor image = torch::tensor({0, 0, 0, 2, 3, 3, 3, 3, 3}, torch::kInt64);
  const torch::Tensor corner = torch::rand({9, 2}) * 30, size = torch::rand({9, 2}) * 25 + 8;
  const torch::Tensor boxes = torch::cat({corner, corner + size}, 1), classes = torch::rand({9, kClasses}).softmax(1),
                      weights = torch::rand({9}) * 0.8 + 0.2;
  torch::manual_seed(seed + 1);
  return {{boxes.to(type), classes.to(type), weights.to(type), image}, torch::rand({4, 3, kSize, kSize}).to(type)};
}

/// The images [from, to) as a batch of their own.
std::pair<plugin::Images, plugin::Targets> part(const Scene& scene, std::int64_t from, std::int64_t to) {
  const plugin::Targets& all = scene.targets;
  const torch::Tensor rows = ((all.image_index >= from) & (all.image_index < to)).nonzero().squeeze(1);
  const auto of_rows = [&](const torch::Tensor& t) { return t.index_select(0, rows); };
  plugin::Images images{scene.pixels.slice(0, from, to), {}};
  for (std::int64_t i = from; i < to; ++i) {
    plugin::ImageMeta meta;
    meta.index = i;
    meta.original_width = meta.original_height = meta.content_width = meta.content_height = kSize;
    images.meta.push_back(meta);
  }
  return {images,
          {of_rows(all.boxes), of_rows(all.class_probs), of_rows(all.weights), of_rows(all.image_index) - from}};
}

TrainSettings plain_sgd() {
  TrainSettings out;
  out.optimizer = {"sgd", 0, false, 0, 0};
  return out;
}

/// What one step made of a detector: the mean loss, the gradient and the buffers.
struct Made {
  double loss = 0;
  std::vector<std::pair<std::string, torch::Tensor>> gradient, buffers;
};

/// sync: batch norm in training mode, with the statistics of all ranks; otherwise as it stands.
Made step_of(DetectorHandle& detector, Communicator& ranks, const Scene& scene, std::int64_t from, std::int64_t to,
             bool sync) {
  detector.module().train(sync);
  WeightUpdater updater(detector, plain_sgd(), ranks);
  SharedBatch shared(ranks, detector.name(), sync ? most_norm_channels(detector.module().buffers()) : 0);
  detector.use_counts(shared.counts());
  (void)shared.begin(false, to - from);
  Made out;
  if (from == to) {
    out.loss = shared.sit_out().total.item<double>();
    shared.sit_out_backward();
    updater.add_nothing();
  } else {
    const auto [images, targets] = part(scene, from, to);
    std::optional<SyncBatchNorm::Scope> scope(shared.norm());
    const auto activations = detector.forward(images);
    const plugin::LossTerms terms = detector.loss(*activations, targets);
    scope.reset();
    out.loss = shared.finish({terms.total.detach(), terms.parts}).total.item<double>();
    updater.add(shared.to_learn_from(terms.total), to - from);
  }
  (void)updater.step(1e-9);
  for (const auto& b : detector.module().named_buffers()) {
    if (b.value().is_floating_point()) out.buffers.emplace_back(b.key(), b.value().clone());
  }
  for (const auto& p : detector.module().named_parameters()) {
    if (p.value().grad().defined()) out.gradient.emplace_back(p.key(), p.value().grad().clone());
  }
  return out;
}

using Named = std::vector<std::pair<std::string, torch::Tensor>>;

/// The Euclidean distance of two lists of tensors, as a share of the first one's length.
double relative_difference(const Named& a, const Named& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, size = 0;
  for (std::size_t n = 0; n < std::min(a.size(), b.size()); ++n) {
    EXPECT_EQ(a[n].first, b[n].first);
    difference += (a[n].second - b[n].second).to(torch::kFloat64).square().sum().item<double>();
    size += a[n].second.to(torch::kFloat64).square().sum().item<double>();
  }
  return size > 0 ? std::sqrt(difference / size) : difference;
}

void expect_close(const Made& whole, const Made& shared, double tolerance) {
  EXPECT_NEAR(shared.loss, whole.loss, tolerance * std::abs(whole.loss));
  EXPECT_FALSE(whole.gradient.empty());
  const double gradient = relative_difference(whole.gradient, shared.gradient),
               buffers = relative_difference(whole.buffers, shared.buffers);
  EXPECT_LE(gradient, tolerance);
  EXPECT_LE(buffers, tolerance);
  ::testing::Test::RecordProperty("relative_difference", std::to_string(gradient));
  std::cout << "relative difference of the gradient: " << gradient << ", of buffers: " << buffers
            << ", of the loss: " << std::abs(shared.loss - whole.loss) / std::abs(whole.loss) << "\n";
}

class SharedStep : public testing::TestWithParam<Example> {
 protected:
  SharedStep()
      : plugin_(LoadedPlugin::load(BDC_BUILD_FOLDER "/plugins/" + GetParam().plugin + ".so")),
        options_(check_options(plugin_.detector_info().options, GetParam().options, "")) {
    torch::set_num_threads(1);
  }
  [[nodiscard]] std::unique_ptr<DetectorHandle> detector() {
    return std::make_unique<DetectorHandle>(plugin_, plugin::DetectorConfig{kClasses, kSize, options_}, 7);
  }
  /// cuts: rank r has the images cuts[r] .. cuts[r+1]-1.
  void compare(const std::vector<std::int64_t>& cuts, bool sync = false) { compare(scene_of(3), cuts, sync, 1e-5); }
  void compare(const Scene& scene, const std::vector<std::int64_t>& cuts, bool sync, double tolerance) {
    const auto type = scene.pixels.scalar_type();
    const auto make = [&] {
      auto out = detector();
      out->module().to(type);
      return out;
    };
    const auto ranks = static_cast<int>(cuts.size()) - 1;
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    const Made whole = step_of(*make(), Communicator::alone(), scene, cuts.front(), cuts.back(), sync);
    std::vector<std::unique_ptr<DetectorHandle>> detectors;
    for (int r = 0; r < ranks; ++r) detectors.push_back(make());
    std::vector<Made> made(cuts.size() - 1);
    ThreadRanks(ranks).run([&](Communicator& rank) {
      torch::set_num_threads(1);
      const auto r = static_cast<std::size_t>(rank.rank());
      made[r] = step_of(*detectors[r], rank, scene, cuts[r], cuts[r + 1], sync);
    });
    for (const Made& one : made) expect_close(whole, one, tolerance);
  }
  LoadedPlugin plugin_;
  plugin::Options options_;
};

TEST_P(SharedStep, IsThatOfOneProcessWithTheWholeBatch) {
  EXPECT_TRUE(detector()->shares_batches());
  compare({0, 2, 4});        // three targets against six
  compare({0, 1, 2, 3, 4});  // one rank's image has no targets
  compare({0, 1, 2});        // all of the targets are one rank's
}

TEST_P(SharedStep, IsThatOfOneProcessWhereARankHasNoImages) {
  compare({0, 2, 3, 3});
  compare({2, 2, 4});
}

TEST_P(SharedStep, IsThatOfOneProcessWithoutTargets) {
  compare({1, 2, 2});
}

// Decisions of single precision may flip where a convolution of two images rounds otherwise than one of four. In double
// precision none does, and what is left would be an error.
class DoubleStep : public SharedStep {};

TEST_P(DoubleStep, IsThatOfOneProcessForManyScenes) {
  for (const std::uint64_t seed : {11, 12, 13, 14, 15, 16}) {
    SCOPED_TRACE("scene " + std::to_string(seed));
    compare(scene_of(seed, torch::kFloat64), {0, 1, 4}, false, 1e-6);
  }
}

/// The same with batch norm in training mode, whose statistics are those of the whole batch.
class SyncStep : public SharedStep {};

TEST_P(SyncStep, IsThatOfOneProcessWithTheWholeBatch) {
  compare({0, 2, 4}, true);        // three targets against six
  compare({0, 1, 2, 3, 4}, true);  // one rank's image has no targets
  compare({0, 1, 2}, true);        // all of the targets are one rank's
}

TEST_P(SyncStep, InDoublePrecisionIsThatOfOneProcessForManyScenes) {
  for (const std::uint64_t seed : {11, 12, 13}) {
    SCOPED_TRACE("scene " + std::to_string(seed));
    compare(scene_of(seed, torch::kFloat64), {0, 1, 4}, true, 1e-6);
  }
}

TEST_P(SyncStep, IsThatOfOneProcessWhereARankHasNoImages) {
  compare({0, 2, 3, 3}, true);
  compare({2, 2, 4}, true);
}

// Samples take everything, as they are drawn at random otherwise.
Example minimal_example() {
  return {"minimal", {{"width", 4}}};
}
Example yolov7_example() {
  return {"yolov7", {{"variant", "tiny"}, {"width", 0.25}}};
}
Example frcnn_example(const std::string& norm) {
  return {"frcnn",
          {{"norm", norm},
           {"backbone", "resnet18"},
           {"width", 0.25},
           {"pyramid_channels", 16},
           {"head_channels", 32},
           {"anchor_sizes", "8, 16, 32, 64, 128"},
           {"rpn_nms", 1.0},
           {"rpn_pre_nms_train", 1000000},
           {"rpn_post_nms_train", 1000000},
           {"rpn_batch", 1000000},
           {"roi_batch", 1000000},
           {"rpn_positive_share", 1.0},
           {"roi_positive_share", 1.0}}};
}
Example eva_example() {
  return {"eva",
          {{"size", "ti"},
           {"embed_dim", 32},
           {"depth", 3},
           {"heads", 2},
           {"patch", 8},
           {"window", 4},
           {"pretrain_size", 64},
           {"global_blocks", "1,2"},
           {"pyramid_channels", 16},
           {"head_width", 32},
           {"head_convs", 1},
           {"drop_path", 0.0},
           {"anchors_per_image", 100000},
           {"regions_per_image", 100000}}};
}
std::string name_of(const testing::TestParamInfo<Example>& given) {
  return given.param.plugin;
}

INSTANTIATE_TEST_SUITE_P(Detectors, SharedStep,
                         testing::Values(minimal_example(), yolov7_example(), frcnn_example("frozen"), eva_example()),
                         name_of);
// yolov7's loss is in single precision whatever its weights are.
INSTANTIATE_TEST_SUITE_P(Detectors, DoubleStep,
                         testing::Values(minimal_example(), frcnn_example("frozen"), eva_example()), name_of);
INSTANTIATE_TEST_SUITE_P(Detectors, SyncStep, testing::Values(minimal_example(), frcnn_example("batch")), name_of);

TEST(SharedBatch, ALossThatAsksForMoreCountsOnOneRankIsStopped) {
  std::vector<std::string> errors(2);
  ThreadRanks(2).run([&](Communicator& rank) {
    const std::string name = "odd";
    SharedBatch shared(rank, name);
    (void)shared.begin(false, 1);
    const plugin::SharedCounts counts = shared.counts();
    try {
      (void)counts.divisor(1);
      if (rank.rank() == 1) (void)counts.divisor(1);
      (void)shared.finish({torch::zeros({}), {}});
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), ExitCode::plugin_threw);
      errors[static_cast<std::size_t>(rank.rank())] = e.what();
    }
  });
  for (const auto& error : errors)
    EXPECT_NE(error.find("plugin 'odd': the loss asked for more counts"), std::string::npos);
}

TEST(SharedBatch, RanksThatComeToOtherBatchNormsAreStopped) {
  std::vector<std::string> errors(2);
  ThreadRanks(2).run([&](Communicator& rank) {
    const std::string name = "odd";
    SharedBatch shared(rank, name, 4);
    (void)shared.begin(false, 1);
    try {
      const SyncBatchNorm::Scope scope(shared.norm());
      const torch::Tensor x = torch::rand({3, rank.rank() == 0 ? 2 : 4});
      (void)torch::batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5, false);
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), ExitCode::plugin_threw);
      errors[static_cast<std::size_t>(rank.rank())] = e.what();
    }
  });
  for (const auto& error : errors) {
    EXPECT_NE(error.find("plugin 'odd': some ranks came to other batch norms than others"), std::string::npos) << error;
  }
}

TEST(SharedBatch, AStopOfAnyRankIsSeenByAll) {
  ThreadRanks(3).run([&](Communicator& rank) {
    const std::string name = "x";
    SharedBatch shared(rank, name);
    EXPECT_FALSE(shared.begin(false, rank.rank()).stop);
    const auto turn = shared.begin(rank.rank() == 2, rank.rank());
    EXPECT_TRUE(turn.stop);
    EXPECT_EQ(turn.images, 3);
  });
}

TEST(SharedBatch, BuffersBecomeTheMeanByImagesAndConstantsKeepTheirBits) {
  const LoadedPlugin minimal = LoadedPlugin::load(BDC_BUILD_FOLDER "/plugins/minimal.so");
  const auto options = check_options(minimal.detector_info().options, Json{{"width", 4}}, "");
  std::vector<std::unique_ptr<DetectorHandle>> detectors;
  for (int r = 0; r < 2; ++r) {
    detectors.push_back(std::make_unique<DetectorHandle>(minimal, plugin::DetectorConfig{kClasses, kSize, options}, 7));
  }
  const float constant = 0.1F;
  ThreadRanks(2).run([&](Communicator& rank) {
    torch::NoGradGuard no_grad;
    DetectorHandle& detector = *detectors[static_cast<std::size_t>(rank.rank())];
    const auto buffers = detector.module().named_buffers();
    buffers["body.1.running_var"].fill_(constant);
    WeightUpdater updater(detector, plain_sgd(), rank);
    buffers["body.1.running_mean"].fill_(rank.rank() == 0 ? 1.0 : 5.0);
    updater.add_nothing();
    {
      torch::AutoGradMode grad(true);
      torch::Tensor loss = torch::zeros({});
      for (const auto& p : detector.module().parameters()) loss = loss + p.sum();
      updater.add(loss, rank.rank() == 0 ? 3 : 1);
    }
    (void)updater.step(0);
    EXPECT_FLOAT_EQ(buffers["body.1.running_mean"][0].item<float>(), 2.0F);
    EXPECT_EQ(buffers["body.1.running_var"][0].item<float>(), constant);
  });
}

}  // namespace
}  // namespace bdc::host
