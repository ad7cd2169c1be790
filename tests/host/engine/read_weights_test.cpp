// Weight files as tensors, and their way into a module.

#include "engine/read_weights.h"

#include <gtest/gtest.h>
#include <torch/nn.h>

#include "bdc/base/user_error.h"
#include "engine/checkpoint.h"
#include "engine/safetensors.h"
#include "support/pickle_writer.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

namespace write = test::pickle;

const char* const kModuleFile = BDC_TEST_DATA "/host/weights/data/module_half.pt";

TEST(ReadWeights, APickledModuleOfPyTorchComesBackBitForBit) {
  const Weights weights = read_weights(kModuleFile);
  EXPECT_EQ(weights.origin, "torch.save, its 'model'");
  ASSERT_EQ(weights.tensors.size(), 16u);
  for (const auto& [name, tensor] : weights.tensors) {
    EXPECT_TRUE(tensor.is_contiguous()) << name;
    if (name.find("num_batches_tracked") != std::string::npos) {
      EXPECT_EQ(tensor.scalar_type(), torch::kInt64);
      EXPECT_EQ(tensor.item<std::int64_t>(), 0);
      continue;
    }
    EXPECT_EQ(tensor.scalar_type(), torch::kFloat16) << name;
    const auto expected = name == "model.2.anchors"
                              ? torch::tensor({1.25, 1.625}).reshape({1, 2})
                              : (torch::arange(tensor.numel(), torch::kFloat32) / 16).reshape(tensor.sizes());
    EXPECT_TRUE(torch::equal(tensor.to(torch::kFloat32), expected.to(torch::kFloat32))) << name;
  }
}

TEST(ReadWeights, HalfPrecisionIsWidenedOnRequestAndTheRestStays) {
  Weights weights = read_weights(kModuleFile);
  widen_to_float32(weights);
  EXPECT_EQ(weights.tensors.at("model.0.conv.weight").scalar_type(), torch::kFloat32);
  EXPECT_EQ(weights.tensors.at("model.2.anchors")[0][1].item<float>(), 1.625f);
  EXPECT_EQ(weights.tensors.at("model.0.bn.num_batches_tracked").scalar_type(), torch::kInt64);
}

TEST(ReadWeights, EveryElementTypeKeepsItsValues) {
  const auto entry = [](const char* type, const char* key, std::int64_t n) {
    return write::tensor(write::storage(type, key, n), 0, {n}, {1});
  };
  const test::TemporaryFolder folder;
  const auto path = folder.write(
      "any.name", test::torch_archive(write::finished(write::dict({{"double", entry("DoubleStorage", "0", 2)},
                                                                   {"float", entry("FloatStorage", "1", 2)},
                                                                   {"half", entry("HalfStorage", "2", 2)},
                                                                   {"bfloat16", entry("BFloat16Storage", "3", 2)},
                                                                   {"int64", entry("LongStorage", "4", 2)},
                                                                   {"int32", entry("IntStorage", "5", 2)},
                                                                   {"int16", entry("ShortStorage", "6", 2)},
                                                                   {"int8", entry("CharStorage", "7", 2)},
                                                                   {"uint8", entry("ByteStorage", "8", 2)},
                                                                   {"bool", entry("BoolStorage", "9", 2)}})),
                                      {{"0", write::bytes_of<double>({1.5, -2})},
                                       {"1", write::bytes_of<float>({1.5, -2})},
                                       {"2", write::bytes_of<std::uint16_t>({0x3e00, 0xc000})},
                                       {"3", write::bytes_of<std::uint16_t>({0x3fc0, 0xc000})},
                                       {"4", write::bytes_of<std::int64_t>({1, -2})},
                                       {"5", write::bytes_of<std::int32_t>({1, -2})},
                                       {"6", write::bytes_of<std::int16_t>({1, -2})},
                                       {"7", write::bytes_of<std::int8_t>({1, -2})},
                                       {"8", write::bytes_of<std::uint8_t>({1, 254})},
                                       {"9", write::bytes_of<std::uint8_t>({7, 0})}}));
  const auto tensors = read_weights(path).tensors;
  for (const char* name : {"double", "float", "half", "bfloat16"})
    EXPECT_TRUE(torch::equal(tensors.at(name).to(torch::kFloat64), torch::tensor({1.5, -2.0}, torch::kFloat64)))
        << name;
  for (const char* name : {"int64", "int32", "int16", "int8"})
    EXPECT_TRUE(torch::equal(tensors.at(name).to(torch::kInt64), torch::tensor({1, -2}, torch::kInt64))) << name;
  EXPECT_TRUE(torch::equal(tensors.at("uint8"), torch::tensor({1, 254}, torch::kUInt8)));
  EXPECT_TRUE(torch::equal(tensors.at("bool"), torch::tensor({true, false})));
}

TEST(ReadWeights, SafetensorsAndOurCheckpointsAreKnownByTheirContent) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "weights.pt";  // the name says otherwise
  const auto one = torch::ones({2}), two = torch::full({2}, 2.f);
  write_safetensors(path, {{{"a", one}, {"b", two}}, {}});
  EXPECT_EQ(read_weights(path).tensors.size(), 2u);
  write_safetensors(path, {{{"model/a", one}, {"optimizer/0", two}, {"random", two}}, {}});
  EXPECT_EQ(read_weights(path).tensors.size(), 1u);
  EXPECT_TRUE(torch::equal(read_weights(path).tensors.at("a"), one));
  // The average stands for what it has; the rest comes from the model.
  write_safetensors(path, {{{"model/a", one}, {"model/steps", one}, {"ema/a", two}, {"random", two}}, {}});
  EXPECT_TRUE(torch::equal(read_weights(path).tensors.at("a"), two));
  EXPECT_TRUE(torch::equal(read_weights(path).tensors.at("steps"), one));
  EXPECT_EQ(read_weights(path).origin, "checkpoint, its ema/");
  Checkpoint checkpoint;
  checkpoint.model["w"] = one;
  checkpoint.random_state = torch::zeros({3}, torch::kUInt8);
  write_checkpoint(path, checkpoint);
  EXPECT_TRUE(torch::equal(read_weights(path).tensors.at("w"), one));
  write_safetensors(path, {});
  EXPECT_THROW((void)read_weights(path), UserError);
}

TEST(ReadWeights, WhatIsNoWeightFileIsRefused) {
  const test::TemporaryFolder folder;
  for (const std::string& bytes : {std::string(), std::string("\x80\x02}."), std::string("hello, this is text"),
                                   test::read_file(kModuleFile).substr(0, 4000)}) {
    EXPECT_THROW((void)read_weights(folder.write("bad.pt", bytes)), UserError);
  }
  EXPECT_THROW((void)read_weights(folder.path()), UserError);
  EXPECT_THROW((void)read_weights(folder.path() / "none.pt"), UserError);
}

struct Net : torch::nn::Module {
  explicit Net(int classes) {
    body = register_module("body", torch::nn::Linear(3, 4));
    norm = register_module("norm", torch::nn::BatchNorm1d(4));
    head = register_module("head", torch::nn::Linear(4, classes));
  }
  torch::nn::Linear body{nullptr}, head{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
};

TEST(LoadMatching, HeadsForOtherClassesAreSkippedAndNamed) {
  Net from(5), into(7);
  Weights weights;
  for (const auto& [name, tensor] : module_state(from)) weights.tensors[name] = tensor.detach().clone();
  weights.tensors["body.weight"] = weights.tensors["body.weight"].to(torch::kFloat16);
  weights.tensors.erase("norm.weight");
  weights.tensors["old.part"] = torch::zeros({1});
  const auto head_before = into.head->weight.detach().clone();
  const LoadReport report = load_matching(into, weights);
  EXPECT_EQ(report.loaded,
            (std::vector<std::string>{"body.bias", "body.weight", "norm.bias", "norm.num_batches_tracked",
                                      "norm.running_mean", "norm.running_var"}));
  ASSERT_EQ(report.skipped.size(), 2u);
  EXPECT_EQ(report.skipped[0].name, "head.bias");
  EXPECT_EQ(report.skipped[1].name, "head.weight");
  EXPECT_EQ(report.skipped[1].reason, "is 5 x 4 in the file, 7 x 4 in the detector");
  EXPECT_EQ(report.missing, std::vector<std::string>{"norm.weight"});
  EXPECT_EQ(report.file_elements, 16 + 13 + 25 + 1) << "body, norm, head, and what is not the module's";
  EXPECT_EQ(report.loaded_elements, 16 + 13);
  EXPECT_DOUBLE_EQ(report.share(), 29.0 / 55) << "the detector has more";
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"old.part"});
  EXPECT_TRUE(torch::equal(into.head->weight, head_before));
  EXPECT_TRUE(torch::equal(into.body->bias, from.body->bias));
  EXPECT_TRUE(torch::equal(into.body->weight, from.body->weight.to(torch::kFloat16).to(torch::kFloat32)));
  EXPECT_TRUE(into.body->weight.requires_grad());
  const std::string text = report.text();
  for (const char* part : {"loaded 6", "head.weight is 5 x 4 in the file", "norm.weight", "old.part"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(LoadMatching, WholeNumbersDoNotBecomeFractions) {
  Net net(2);
  Weights weights;
  weights.tensors["body.bias"] = torch::ones({4}, torch::kInt64);
  weights.tensors["norm.num_batches_tracked"] = torch::tensor(9, torch::kInt32);
  const LoadReport report = load_matching(net, weights);
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_EQ(report.skipped[0].reason, "has Long elements in the file, Float in the detector");
  EXPECT_EQ(net.norm->num_batches_tracked.item<std::int64_t>(), 9);
}

/// backbone.body.<conv, norm>, backbone.other.conv, head.conv.
struct WholeDetector : torch::nn::Module {
  WholeDetector() {
    auto backbone = register_module("backbone", std::make_shared<torch::nn::Module>());
    auto body = backbone->register_module("body", std::make_shared<torch::nn::Module>());
    body->register_module("conv", torch::nn::Conv2d(3, 4, 1));
    body->register_module("norm", torch::nn::BatchNorm2d(4));
    backbone->register_module("other", std::make_shared<torch::nn::Module>())
        ->register_module("conv", torch::nn::Conv2d(3, 4, 1));
    register_module("head", std::make_shared<torch::nn::Module>())->register_module("conv", torch::nn::Conv2d(4, 2, 1));
  }
};

TEST(LoadMatching, ABackboneAloneGoesWhereMostOfItFits) {
  WholeDetector detector;
  Weights weights;
  weights.tensors = {{"conv.weight", torch::full({4, 3, 1, 1}, 7.0)},
                     {"conv.bias", torch::full({4}, 7.0)},
                     {"norm.weight", torch::full({4}, 7.0)},
                     {"norm.running_mean", torch::full({4}, 7.0)},
                     {"fc.weight", torch::zeros({1000, 4})}};
  const auto other = detector.named_parameters()["backbone.other.conv.weight"].detach().clone();
  const LoadReport report = load_matching(detector, weights);
  EXPECT_EQ(report.prefix, "backbone.body.");
  EXPECT_EQ(report.loaded.size(), 4u);
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"fc.weight"});
  EXPECT_EQ(detector.named_parameters()["backbone.body.conv.weight"].sum().item<float>(), 84);
  EXPECT_EQ(detector.named_buffers()["backbone.body.norm.running_mean"].sum().item<float>(), 28);
  EXPECT_TRUE(torch::equal(detector.named_parameters()["backbone.other.conv.weight"], other));
  EXPECT_NE(report.text().find("into the detector's 'backbone.body'"), std::string::npos) << report.text();
}

TEST(LoadMatching, NamesThatAreTheDetectorsOwnAreTakenAsTheyStand) {
  WholeDetector detector;
  Weights weights;
  weights.tensors = {{"head.conv.bias", torch::zeros({2})}, {"conv.bias", torch::zeros({4})}};
  const LoadReport report = load_matching(detector, weights);
  EXPECT_EQ(report.prefix, "");
  EXPECT_EQ(report.loaded, std::vector<std::string>{"head.conv.bias"});
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"conv.bias"});
}

}  // namespace
}  // namespace bdc::host
