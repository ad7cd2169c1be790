// Networks of simulated annotators: their shapes, their training, and their files.
#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include <opencv2/core.hpp>

#include "bdc/base/atomic_file.h"
#include "bdc/base/user_error.h"
#include "data/shapes.h"
#include "engine/checkpoint.h"
#include "engine/safetensors.h"
#include "networks/crop_classifier.h"
#include "networks/network_sources.h"
#include "networks/region_proposals.h"
#include "networks/skill_store.h"
#include "parts/proposal_network.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

namespace fs = std::filesystem;

std::int64_t weights_of(torch::nn::Module& module) {
  std::int64_t out = 0;
  for (const auto& p : module.parameters()) out += p.numel();
  return out;
}

TEST(Classifiers, HaveTorchvisionsParameters) {
  torch::NoGradGuard no_grad;
  struct Wanted {
    const char* kind;
    std::int64_t weights;
    std::map<std::string, std::vector<std::int64_t>> shapes;
  };
  const Wanted wanted[] = {{"alexnet",
                            61100840,
                            {{"features.0.weight", {64, 3, 11, 11}},
                             {"features.3.weight", {192, 64, 5, 5}},
                             {"features.10.bias", {256}},
                             {"classifier.1.weight", {4096, 9216}},
                             {"classifier.6.weight", {1000, 4096}}}},
                           {"vgg16",
                            138357544,
                            {{"features.0.weight", {64, 3, 3, 3}},
                             {"features.7.weight", {128, 128, 3, 3}},
                             {"features.28.weight", {512, 512, 3, 3}},
                             {"classifier.0.weight", {4096, 25088}},
                             {"classifier.6.bias", {1000}}}},
                           {"resnet50",
                            25557032,
                            {{"conv1.weight", {64, 3, 7, 7}},
                             {"layer1.0.downsample.0.weight", {256, 64, 1, 1}},
                             {"layer4.2.bn3.running_var", {2048}},
                             {"fc.weight", {1000, 2048}}}}};
  for (const Wanted& w : wanted) {
    const Classifier full = make_classifier({w.kind, 1, 224, {}}, 1000);
    EXPECT_EQ(weights_of(*full.module), w.weights) << w.kind;
    const auto state = module_state(*full.module);
    for (const auto& [name, shape] : w.shapes) {
      ASSERT_TRUE(state.count(name)) << w.kind << " " << name;
      EXPECT_EQ(state.at(name).sizes().vec(), shape) << w.kind << " " << name;
    }
  }
}

TEST(Classifiers, TakeSmallCropsAtAnyWidth) {
  for (const char* kind : {"alexnet", "vgg16", "resnet50"}) {
    const Classifier narrow = make_classifier({kind, 0.05, 64, {}}, 5);
    EXPECT_EQ(narrow.forward(torch::rand({2, 3, 64, 64})).sizes().vec(), (std::vector<std::int64_t>{2, 5})) << kind;
  }
}

TEST(Fit, LearnsAndVisitsEveryItemOnceAnEpoch) {
  torch::manual_seed(1);
  torch::nn::Linear line(1, 1);
  const torch::Tensor x = torch::linspace(-1, 1, 33).unsqueeze(1), y = 3 * x - 0.5;
  std::vector<int> visits(33, 0);
  std::size_t smallest = 99;
  fit(*line, {20, 8, 0.1, "sgd", ""}, 33, 1, "line",
      [&](const std::vector<std::int64_t>& which) {
        for (const auto n : which) visits[static_cast<std::size_t>(n)] += 1;
        smallest = std::min(smallest, which.size());
        const torch::Tensor rows = torch::tensor(which, torch::kInt64);
        return (line(x.index_select(0, rows)) - y.index_select(0, rows)).square().mean();
      },
      {});
  EXPECT_NEAR(line->weight.item<double>(), 3, 0.1);
  for (const int count : visits) EXPECT_EQ(count, 20);
  EXPECT_GT(smallest, 1u);  // 33 = 4 x 8 + 1
}

TEST(Fit, ALossThatIsNotFiniteIsAnError) {
  torch::nn::Linear line(1, 1);
  try {
    fit(*line, {1, 2, 0.1, "sgd", ""}, 4, 1, "line",
        [&](const std::vector<std::int64_t>&) { return line->weight.sum() * INFINITY; }, {});
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::non_finite);
    EXPECT_NE(std::string(e.what()).find("learning_rate"), std::string::npos);
  }
}

TEST(Fit, ANetworkFromScratchStartsWithoutItsResiduals) {
  torch::NoGradGuard no_grad;
  for (const char* backbone : {"resnet18", "resnet50"}) {
    ProposalSettings settings;
    settings.backbone = backbone;
    settings.width = 0.05;
    const auto network = make_proposal_network(settings);
    start_without_residuals(*network);
    std::size_t zero = 0;
    for (const auto& item : network->named_parameters()) {
      const std::string last = std::string(backbone) == "resnet18" ? "bn2.weight" : "bn3.weight";
      const bool is_zero = item.key().find("bn") != std::string::npos &&
                           item.key().find("weight") != std::string::npos &&
                           item.value().abs().sum().item<double>() == 0;
      EXPECT_EQ(is_zero, item.key().find(last) != std::string::npos) << item.key();
      zero += is_zero ? 1 : 0;
    }
    EXPECT_EQ(zero, std::string(backbone) == "resnet18" ? 8u : 16u);
  }
}

/// Two images: the left half red and the right half blue, and the other way round.
class Halves : public Dataset {
 public:
  Halves() {
    for (int i = 0; i < 2; ++i) labels_.images.push_back({{std::to_string(i), true}, "", 20, 10});
    labels_.classes.push_back({{"0", true}, "half"});
    labels_.finalize();
  }
  [[nodiscard]] const CrowdData& labels() const override { return labels_; }
  [[nodiscard]] cv::Mat image(std::int64_t index) const override {
    cv::Mat out(10, 20, CV_8UC3, index == 0 ? cv::Scalar(255, 0, 0) : cv::Scalar(0, 0, 255));
    out(cv::Rect(10, 0, 10, 10)).setTo(index == 0 ? cv::Scalar(0, 0, 255) : cv::Scalar(255, 0, 0));
    return out;
  }

 private:
  CrowdData labels_;
};

TEST(Crops, AreCutFromTheirImagesAndStretched) {
  const std::vector<Crop> crops = {{0, {0, 0, 10, 10}, 0}, {0, {10, 0, 20, 5}, 0}, {1, {10, 2, 20, 4}, 0}};
  const torch::Tensor pixels = load_crops(Halves(), crops, {2, 1, 0}, 32, 2);
  ASSERT_EQ(pixels.sizes().vec(), (std::vector<std::int64_t>{3, 3, 32, 32}));
  for (const auto& [row, red] : {std::pair{0, 1.0}, {1, 0.0}, {2, 1.0}}) {
    EXPECT_EQ(pixels[row][0].min().item<double>(), red) << row;
    EXPECT_EQ(pixels[row][0].max().item<double>(), red) << row;
    EXPECT_EQ(pixels[row][2].mean().item<double>(), 1 - red) << row;
  }
}

/// A skill of the smallest networks there are.
CrowdSpec tiny_spec(const std::string& more = "") {
  return parse_crowd_spec(Json::parse(R"({"kind": "network", "groups": [{"skill": "poor", "annotators": 2}],
      "networks": {"size": "small", "classifier": {"width": 0.05, "epochs": 1},
                   "rpn": {"width": 0.05, "pyramid": 8, "input": 64, "epochs": 1})" +
                                      more + "}}"),
                          "spec");
}

NetworkRun tiny_run(const fs::path& folder, int threads = 1) {
  NetworkRun run;
  run.folder = folder.string();
  run.threads = threads;
  return run;
}

class SkillStore : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    data_ = std::make_unique<ShapesData>(ShapesSettings{24, 2, 64, 2, 1});
    kept_ = std::make_unique<test::TemporaryFolder>();
    first_ = std::make_unique<SkillSources>(network_sources(tiny_spec(), *data_, tiny_run(kept_->path())));
  }
  static void TearDownTestSuite() {
    data_.reset();
    kept_.reset();
    first_.reset();
  }
  /// A copy of what was kept, to break.
  void SetUp() override { mend(); }
  void mend() {
    fs::copy(kept_->path() / "poor", folder_.path() / "poor",
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }

  SkillSources load(const CrowdSpec& spec = tiny_spec(), int threads = 1) {
    return network_sources(spec, *data_, tiny_run(folder_.path(), threads));
  }
  std::string error(const CrowdSpec& spec = tiny_spec()) {
    try {
      (void)load(spec);
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), ExitCode::data) << e.what();
      return e.what();
    }
    return "";
  }
  Json json() { return read_json_file(file("networks.json")); }
  void write(const Json& json) { write_file_atomically(file("networks.json"), json.dump()); }
  fs::path file(const char* name) { return folder_.path() / "poor" / name; }

  test::TemporaryFolder folder_;
  static std::unique_ptr<ShapesData> data_;
  static std::unique_ptr<test::TemporaryFolder> kept_;
  static std::unique_ptr<SkillSources> first_;
};
std::unique_ptr<ShapesData> SkillStore::data_;
std::unique_ptr<test::TemporaryFolder> SkillStore::kept_;
std::unique_ptr<SkillSources> SkillStore::first_;

void expect_same(const SkillSource& a, const SkillSource& b) {
  EXPECT_EQ(a.counts, b.counts);
  ASSERT_EQ(a.proposals->images(), b.proposals->images());
  for (std::size_t i = 0; i < a.proposals->images(); ++i) {
    ASSERT_EQ(a.proposals->count(i), b.proposals->count(i));
    for (std::size_t n = 0; n < a.proposals->count(i); ++n) {
      ASSERT_TRUE(a.proposals->at(i, n).box == b.proposals->at(i, n).box);
      ASSERT_EQ(a.proposals->at(i, n).objectness, b.proposals->at(i, n).objectness);
    }
  }
}

TEST_F(SkillStore, KeptNetworksGiveTheSameBitsForAnyNumberOfThreads) {
  expect_same(load(tiny_spec(), 1).skills.at("poor"), first_->skills.at("poor"));
  expect_same(load(tiny_spec(), 3).skills.at("poor"), first_->skills.at("poor"));
}

TEST_F(SkillStore, TheSameSeedAndThreadsTrainTheSameNetworks) {
  expect_same(network_sources(tiny_spec(), *data_, tiny_run("")).skills.at("poor"), first_->skills.at("poor"));
}

TEST_F(SkillStore, ProposalsLieInTheImageAndCountsAreTheHeldOutCrops) {
  const SkillSource& source = first_->skills.at("poor");
  const CropSets crops = make_crops(data_->labels(), {0.25, 1, 1});
  double sum = 0;
  for (const double n : source.counts) sum += n;
  EXPECT_EQ(sum, static_cast<double>(crops.held_out.size()));
  ASSERT_EQ(source.proposals->images(), 24u);
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_LE(source.proposals->count(i), 100u);
    EXPECT_GE(source.proposals->count(i), 1u);
    for (std::size_t n = 0; n < source.proposals->count(i); ++n) {
      const Box b = source.proposals->at(i, n).box;
      ASSERT_TRUE(b.x1 >= 0 && b.y1 >= 0 && b.x2 <= 64 && b.y2 <= 64 && b.width() >= 0.99 && b.height() >= 0.99);
    }
  }
}

TEST_F(SkillStore, WhatWasTrainedForOtherClassesIsRefused) {
  Json other = json();
  other["classes"][1] = "horse";
  write(other);
  EXPECT_NE(error().find("'horse' there"), std::string::npos);
  other["classes"].erase(1);
  write(other);
  EXPECT_NE(error().find("1 classes"), std::string::npos);
}

TEST_F(SkillStore, OtherSettingsAreRefusedByName) {
  EXPECT_EQ(error(tiny_spec(R"(, "proposals": 30)")), "");  // not theirs
  EXPECT_NE(error(tiny_spec(R"(, "skills": {"poor": {"rpn": {"width": 0.1}}})")).find("rpn.width is 0.05 there, 0.1"),
            std::string::npos);
  EXPECT_NE(error(tiny_spec(R"(, "seed": 5)")).find("seed is 1 there, 5"), std::string::npos);
}

TEST_F(SkillStore, DamagedAndHostileFilesAreClearErrors) {
  const auto broken = [&](const char* name, const std::string& bytes, const std::string& says) {
    mend();
    write_file_atomically(file(name), bytes);
    const std::string text = error();
    EXPECT_NE(text.find(name), std::string::npos) << text;
    EXPECT_NE(text.find(says), std::string::npos) << text;
  };
  const Json good = json();
  const auto with = [&](const char* key, const Json& value) {
    Json out = good;
    out[key] = value;
    return out.dump();
  };
  broken("networks.json", "{", "");
  broken("networks.json", "[]", "format");
  broken("networks.json", with("format", "other"), "format");
  broken("networks.json", with("confusion_counts", Json::array({1, 2})), "expected 9 numbers");
  broken("networks.json", with("confusion_counts", Json(std::vector<double>(9, 0.0))), "above 0");
  broken("networks.json", with("confusion_counts", Json(std::vector<double>(9, -1.0))), "from 0");
  broken("networks.json", with("settings", 3), "an object");
  broken("networks.json", with("settings", {{"rpn", {{"width", 1e9}}}}), "width");
  broken("networks.json", with("settings", {{"rpn", {{"width", 0.5}}}}), "");
  broken("rpn.safetensors", "rubbish", "");
  broken("classifier.safetensors", std::string(8, '\xff'), "");
  TensorFile weights = read_safetensors(kept_->path() / "poor" / "rpn.safetensors");
  weights.tensors.begin()->second.fill_(NAN);
  mend();
  write_safetensors(file("rpn.safetensors"), weights);
  EXPECT_NE(error().find("not finite"), std::string::npos);
  fs::remove(file("rpn.safetensors"));
  EXPECT_NE(error().find("is missing"), std::string::npos);
  fs::remove(file("networks.json"));
  EXPECT_NE(error().find("is missing"), std::string::npos);
}

TEST_F(SkillStore, OverwrittenWeightsAreNoticedByTheirDigest) {
  for (const char* name : {"rpn.safetensors", "classifier.safetensors"}) {
    mend();
    TensorFile weights = read_safetensors(file(name));
    for (auto& [key, tensor] : weights.tensors) {
      if (tensor.is_floating_point()) tensor.fill_(0.5);
    }
    write_safetensors(file(name), weights);
    EXPECT_NE(error().find(name), std::string::npos);
    EXPECT_NE(error().find("damaged"), std::string::npos);
  }
  Json other = json();
  other["digests"] = 3;
  write(other);
  EXPECT_NE(error().find("digests: expected an object"), std::string::npos);
}

TEST_F(SkillStore, NetworksOfEarlierVersionsHaveNoDigest) {
  Json before = json();
  EXPECT_EQ(before["digests"].size(), 2u);
  before.erase("digests");
  write(before);
  expect_same(load().skills.at("poor"), first_->skills.at("poor"));
}

TEST_F(SkillStore, AFolderThatCannotBeWrittenIsNoticedBeforeTraining) {
  NetworkRun run = tiny_run("/proc/nets");  // not for root either
  std::string said;
  run.progress.line = run.progress.live = [&](const std::string& text) { said += text; };
  try {
    (void)network_sources(tiny_spec(), *data_, run);
    FAIL() << "expected an error";
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), ExitCode::failure);
    EXPECT_NE(std::string(e.what()).find("/proc/nets: networks cannot be kept here"), std::string::npos) << e.what();
  }
  EXPECT_EQ(said, "");
}

TEST_F(SkillStore, ANameThatIsNoFolderIsRefused) {
  for (const char* skill : {"../up", "", ".hidden", "a/b"}) {
    EXPECT_THROW((void)load_skill(folder_.path(), skill, {}, Json::object()), UserError) << skill;
  }
}

TEST_F(SkillStore, StartWeightsAreTakenByTorchvisionsNames) {
  // An ImageNet backbone has no names in common with the whole network but fits a part of it.
  const Classifier backbone = make_classifier({"resnet50", 0.05, 64, {}}, 7);
  const fs::path path = folder_.path() / "resnet50.safetensors";
  write_safetensors(path, {module_state(*backbone.module), {}});
  const auto settings =
      parse_network_settings({{"rpn", {{"width", 0.05}, {"weights", path.string()}}}}, "n", "small", 1)
          .skills.at("average");
  EXPECT_EQ(settings.rpn.norm, "frozen");
  const auto network = make_proposal_network(settings.rpn);
  std::string said;
  NetworkProgress progress;
  progress.line = [&](const std::string& text) { said += text; };
  torch::nn::Module& module = *network;
  load_start_weights(module, settings.rpn.training, "rpn", progress);
  EXPECT_NE(said.find("resnet50.safetensors"), std::string::npos);
  EXPECT_TRUE(torch::equal(module_state(module).at("backbone.body.layer4.2.conv3.weight"),
                           module_state(*backbone.module).at("layer4.2.conv3.weight")));
  write_safetensors(path, {{{"unknown", torch::zeros({3})}}, {}});
  EXPECT_THROW(load_start_weights(module, settings.rpn.training, "rpn", progress), UserError);
}

TEST(Proposals, AverageRecallIsTheShareOfObjectsFoundOverTenLimits) {
  const ShapesData shapes({1, 1, 64, 1, 1});
  CrowdData truth = shapes.labels();
  truth.truth = {
      {{0, 0, 20, 20}, 0, 0, false, 400}, {{30, 30, 50, 50}, 0, 0, false, 400}, {{0, 0, 9, 9}, 0, 0, true, 81}};
  truth.finalize();
  ImageProposals seen;
  seen.add_image({{{0, 0, 20, 20}, 0.1}, {{30, 30, 50, 43.2}, 0.9}});  // IoU 1 and 0.66
  EXPECT_NEAR(average_recall(truth, seen), (1.0 + 0.4) / 2, 1e-9);
}

}  // namespace
}  // namespace bdc::host
