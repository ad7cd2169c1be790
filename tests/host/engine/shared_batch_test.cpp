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
plugin::Targets all_targets() {
  torch::manual_seed(3);
  const torch::Tensor image = torch::tensor({0, 0, 0, 2, 3, 3, 3, 3, 3}, torch::kInt64);
  const torch::Tensor corner = torch::rand({9, 2}) * 30, size = torch::rand({9, 2}) * 25 + 8;
  return {torch::cat({corner, corner + size}, 1), torch::rand({9, kClasses}).softmax(1), torch::rand({9}) * 0.8 + 0.2,
          image};
}

torch::Tensor all_pixels() {
  torch::manual_seed(4);
  return torch::rand({4, 3, kSize, kSize});
}

/// The images [from, to) as a batch of their own.
std::pair<plugin::Images, plugin::Targets> part(std::int64_t from, std::int64_t to) {
  // Drawn once: ranks are threads here, and there is one source of random numbers.
  static const plugin::Targets all = all_targets();
  static const torch::Tensor pixels = all_pixels();
  const torch::Tensor rows = ((all.image_index >= from) & (all.image_index < to)).nonzero().squeeze(1);
  const auto of_rows = [&](const torch::Tensor& t) { return t.index_select(0, rows); };
  plugin::Images images{pixels.slice(0, from, to), {}};
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
  std::vector<std::pair<std::string, torch::Tensor>> gradient;
};

Made step_of(DetectorHandle& detector, Communicator& ranks, std::int64_t from, std::int64_t to) {
  detector.module().eval();  // batch norm as it stands
  WeightUpdater updater(detector, plain_sgd(), ranks);
  SharedBatch shared(ranks, detector.name());
  detector.use_counts(shared.counts());
  (void)shared.begin(false, to - from);
  Made out;
  if (from == to) {
    out.loss = shared.sit_out().total.item<double>();
    updater.add_nothing();
  } else {
    const auto [images, targets] = part(from, to);
    const auto activations = detector.forward(images);
    const plugin::LossTerms terms = detector.loss(*activations, targets);
    out.loss = shared.finish({terms.total.detach(), terms.parts}).total.item<double>();
    updater.add(terms.total, to - from);
  }
  (void)updater.step(1e-9);
  for (const auto& p : detector.module().named_parameters()) {
    if (p.value().grad().defined()) out.gradient.emplace_back(p.key(), p.value().grad().clone());
  }
  return out;
}

void expect_close(const Made& whole, const Made& shared) {
  EXPECT_NEAR(shared.loss, whole.loss, 1e-5 * std::abs(whole.loss));
  ASSERT_EQ(whole.gradient.size(), shared.gradient.size());
  double difference = 0, size = 0;
  for (std::size_t n = 0; n < whole.gradient.size(); ++n) {
    ASSERT_EQ(whole.gradient[n].first, shared.gradient[n].first);
    difference +=
        (whole.gradient[n].second - shared.gradient[n].second).to(torch::kFloat64).square().sum().item<double>();
    size += whole.gradient[n].second.to(torch::kFloat64).square().sum().item<double>();
  }
  EXPECT_GT(size, 0);
  EXPECT_LE(std::sqrt(difference / size), 1e-5);
  ::testing::Test::RecordProperty("relative_difference", std::to_string(std::sqrt(difference / size)));
  std::cout << "relative difference of the gradient: " << std::sqrt(difference / size)
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
  void compare(const std::vector<std::int64_t>& cuts) {
    const auto ranks = static_cast<int>(cuts.size()) - 1;
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    const Made whole = step_of(*detector(), Communicator::alone(), cuts.front(), cuts.back());
    std::vector<std::unique_ptr<DetectorHandle>> detectors;
    for (int r = 0; r < ranks; ++r) detectors.push_back(detector());
    std::vector<Made> made(cuts.size() - 1);
    ThreadRanks(ranks).run([&](Communicator& rank) {
      torch::set_num_threads(1);
      const auto r = static_cast<std::size_t>(rank.rank());
      made[r] = step_of(*detectors[r], rank, cuts[r], cuts[r + 1]);
    });
    for (const Made& one : made) expect_close(whole, one);
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

// Samples take everything, as they are drawn at random otherwise. Suppression and matching decide by comparing, so that
// the last bit of a convolution of two images instead of four can change a proposal: rarely, and not for these images.
INSTANTIATE_TEST_SUITE_P(Detectors, SharedStep,
                         testing::Values(Example{"minimal", {{"width", 4}}},
                                         Example{"yolov7", {{"variant", "tiny"}, {"width", 0.25}}},
                                         Example{"frcnn",
                                                 {{"backbone", "resnet18"},
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
                                                  {"roi_positive_share", 1.0}}},
                                         Example{"eva",
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
                                                  {"regions_per_image", 100000}}}),
                         [](const auto& c) { return c.param.plugin; });

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
