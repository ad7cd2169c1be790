// Plugin API types, the optimiser and tensor files.

#include <bdc/plugin/boxes.h>
#include <bdc/plugin/types.h>
#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include <chrono>

#include "bdc/base/user_error.h"
#include "engine/optimizer.h"
#include "engine/safetensors.h"
#include "support/temporary_folder.h"

namespace bdc::host {
namespace {

using plugin::Affine;
using plugin::Targets;

TEST(Affine, InverseUndoesAFlipWithScaleAndShift) {
  Affine flip;
  flip.m = {-2, 0, 100, 0, 2, 7};
  const auto boxes = torch::tensor({1.0, 2.0, 10.0, 20.0, 5.0, 5.0, 6.0, 7.0}, torch::kFloat64).reshape({2, 4});
  const auto there = flip.apply_to_boxes(boxes);
  EXPECT_TRUE((there.select(1, 2) > there.select(1, 0)).all().item<bool>());
  EXPECT_TRUE(torch::allclose(flip.inverse().apply_to_boxes(there), boxes, 0, 1e-12));
  Affine flat;
  flat.m = {1, 0, 0, 0, 0, 0};
  EXPECT_THROW((void)flat.inverse(), std::domain_error);
}

TEST(Targets, ValidateNamesTheBrokenLaw) {
  const auto good = [] {
    return Targets::hard(torch::tensor({1.f, 1.f, 5.f, 5.f}).reshape({1, 4}), torch::tensor({1}, torch::kInt64),
                         torch::tensor({0}, torch::kInt64), 3);
  };
  EXPECT_NO_THROW(good().validate(1, 3));
  const auto broken = [&](const std::function<void(Targets&)>& change, const std::string& law) {
    Targets t = good();
    change(t);
    try {
      t.validate(1, 3);
      FAIL() << law;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find(law), std::string::npos) << e.what();
    }
  };
  broken([](Targets& t) { t.weights = torch::Tensor(); }, "must all be set");
  broken([](Targets& t) { t.boxes = torch::zeros({1, 5}); }, "T x 4");
  broken([](Targets& t) { t.boxes = torch::zeros({1, 4}); }, "x1 < x2");
  broken([](Targets& t) { t.boxes[0][0] = std::nanf(""); }, "finite");
  broken([](Targets& t) { t.class_probs = torch::zeros({1, 2}); }, "number of classes");
  broken([](Targets& t) { t.class_probs = t.class_probs * 0.5; }, "sum to 1");
  broken([](Targets& t) { t.weights = -t.weights; }, "weights must be finite and not negative");
  broken([](Targets& t) { t.image_index = t.image_index + 1; }, "0..batch-1");
  broken([](Targets& t) { t.weights = t.weights.to(torch::kFloat64); }, "float32");
}

TEST(Boxes, GeneralizedIouOfEqualBoxesIsOneAndOfDistantOnesNegative) {
  const auto a = torch::tensor({0.f, 0.f, 2.f, 2.f}).reshape({1, 4}),
             b = torch::tensor({8.f, 0.f, 10.f, 2.f}).reshape({1, 4});
  EXPECT_NEAR(plugin::generalized_iou_rows(a, a).item<double>(), 1, 1e-6);
  EXPECT_NEAR(plugin::generalized_iou_rows(a, b).item<double>(), -(20.0 - 8.0) / 20.0, 1e-6);
}

TEST(Boxes, SuppressKeepsTheBestOfAnOverlapAndHonoursTheLimit) {
  const auto boxes =
      torch::tensor({0.f, 0.f, 10.f, 10.f, 1.f, 1.f, 11.f, 11.f, 50.f, 50.f, 60.f, 60.f}).reshape({3, 4});
  const auto scores = torch::tensor({0.5f, 0.9f, 0.1f});
  const auto kept = plugin::suppress(boxes, scores, 0.5, 10);
  EXPECT_TRUE(torch::equal(kept, torch::tensor({1, 2}, torch::kInt64)));
  EXPECT_EQ(plugin::suppress(boxes, scores, 0.99, 2).size(0), 2);
  EXPECT_EQ(plugin::suppress(boxes.slice(0, 0, 0), scores.slice(0, 0, 0), 0.5, 10).size(0), 0);
}

/// The yardstick is LibTorch's own optimiser on the same gradients.
template <class Reference, class ReferenceOptions>
void expect_equal_to_libtorch(const OptimizerSettings& settings, ReferenceOptions options) {
  torch::manual_seed(1);
  auto ours = torch::randn({4, 3}, torch::requires_grad()), theirs = ours.detach().clone().requires_grad_();
  Optimizer optimizer({{"all", {ours}, 1.0, 1.0}}, settings);
  Reference reference({theirs}, options);
  const auto wanted = torch::randn({4, 3});
  for (int i = 0; i < 20; ++i) {
    optimizer.zero_grad();
    reference.zero_grad();
    (ours - wanted).pow(2).sum().backward();
    (theirs - wanted).pow(2).sum().backward();
    (void)optimizer.step(0.01);
    reference.step();
  }
  EXPECT_TRUE(torch::allclose(ours, theirs, 1e-6, 1e-7));
}

TEST(Optimizer, SgdAndAdamWEqualLibTorchs) {
  expect_equal_to_libtorch<torch::optim::SGD>({"sgd", 0.9, false, 0.01, 0},
                                              torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(0.01));
  expect_equal_to_libtorch<torch::optim::SGD>(
      {"sgd", 0.9, true, 0.01, 0}, torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(0.01).nesterov(true));
  expect_equal_to_libtorch<torch::optim::AdamW>({"adamw", 0, false, 0.01, 0},
                                                torch::optim::AdamWOptions(0.01).weight_decay(0.01));
}

TEST(Optimizer, ClippingLimitsTheNormAndReportsTheOneBefore) {
  auto p = torch::zeros({2}, torch::requires_grad());
  Optimizer optimizer({{"all", {p}, 1.0, 1.0}}, {"sgd", 0, false, 0, 1.0});
  (p * torch::tensor({30.f, 40.f})).sum().backward();
  EXPECT_NEAR(optimizer.step(1.0), 50, 1e-4);
  EXPECT_NEAR(p.norm().item<double>(), 1, 1e-6);
}

TensorFile sample() {
  TensorFile file;
  file.metadata["a"] = "b";
  file.tensors["f"] = torch::arange(6, torch::kFloat32).reshape({2, 3});
  file.tensors["i"] = torch::tensor({1, -2}, torch::kInt64);
  file.tensors["none"] = torch::zeros({0, 4});
  file.tensors["scalar"] = torch::tensor(3.5, torch::kFloat64);
  file.tensors["yes"] = torch::tensor({true, false});
  return file;
}

TEST(Safetensors, EverythingComesBackBitForBit) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  write_safetensors(path, sample());
  const TensorFile back = read_safetensors(path);
  EXPECT_EQ(back.metadata, sample().metadata);
  ASSERT_EQ(back.tensors.size(), sample().tensors.size());
  for (const auto& [name, tensor] : sample().tensors) {
    EXPECT_EQ(back.tensors.at(name).scalar_type(), tensor.scalar_type());
    EXPECT_TRUE(torch::equal(back.tensors.at(name), tensor)) << name;
  }
}

std::string with_header(const std::string& json, const std::string& data = "") {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>((json.size() >> (8 * i)) & 0xff);
  return out + json + data;
}

TEST(Safetensors, HostileFilesAreRefusedWithAReason) {
  const test::TemporaryFolder folder;
  const std::string four(4, '\0'), eight(8, '\0');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "too short"},
      {std::string(8, '\xff'),
       "is cut off or not a safetensors file: it should begin with a header of 18446744073709551615"},
      {with_header("{}").substr(0, 9),
       "is cut off or not a safetensors file: it should begin with a header of 2 bytes"},
      {with_header(std::string((16u << 20) + 1, ' ')), "at most 16777216 are read"},
      {with_header(R"({"t": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]},
                       "\u0074": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})",
                   four),
       "'t' appears twice in its header"},
      {with_header(R"({"__metadata__": {"a": "1", "a": "2"}})"), "'a' appears twice in its header"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", "abc"),
       "needs more bytes than the file has; it is cut off or damaged"},
      {with_header("{"), "not valid JSON"},
      {with_header("[]"), "not a JSON object"},
      {with_header(std::string(50, '[') + std::string(50, ']')), "nested"},
      {with_header(R"({"[[[[[[[[[[\"{{{{{{{{{{": 5})"), "expected an object"},
      {with_header(R"({"a\\": )" + std::string(50, '[')), "nested"},
      {with_header(R"({"t": 5})"), "expected an object"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [1]}})"), "has no \"data_offsets\""},
      {with_header(R"({"t": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}})", four), "dtype"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", four), "unsigned integer"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [4611686018427387904, 4], "data_offsets": [0, 4]}})", four),
       "more bytes than the file has"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})", four), "needs more bytes"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [1000000000000], "data_offsets": [0, 4]}})", four),
       "more bytes than the file has"},
      {with_header(R"({"t": {"dtype": "U8", "shape": [1000000000000], "data_offsets": [0, 1000000000000]}})", four),
       "more bytes than the file has"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [0, 18446744073709551615], "data_offsets": [0, 0]}})"),
       "more bytes than the file has"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [4611686018427387904, 0, 4], "data_offsets": [0, 0]}})"),
       "more bytes than the file has"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}})", four), "unsigned integer"},
      {with_header(
           R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "u": {"dtype": "F32", "shape": [1], )"
           R"("data_offsets": [0, 4]}})",
           four),
       "overlaps another"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}})", four), "outside the file"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [0, 400]}})", four), "outside the file"},
      {with_header(
           R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "u": {"dtype": "F32", "shape": [1], "data_offsets": [2, 6]}})",
           eight),
       "overlaps another"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})", eight), "leaves a gap"},
      {with_header(R"({"t": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", eight), "belong to no tensor"},
      {with_header(R"({"__metadata__": {"a": 5}})"), "expected a string"},
  };
  for (const auto& [bytes, reason] : cases) {
    const auto path = folder.write("bad.safetensors", bytes);
    try {
      (void)read_safetensors(path);
      FAIL() << reason;
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), ExitCode::data);
      EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what() << "\nexpected: " << reason;
    }
  }
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  write_safetensors(path, sample());
  const std::string whole = test::read_file(path);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    folder.write("cut.safetensors", whole.substr(0, n));
    EXPECT_THROW((void)read_safetensors(folder.path() / "cut.safetensors"), UserError) << n;
  }
}

TEST(Safetensors, AFlippedBitIsRefusedOrTheFileIsStillSound) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  write_safetensors(path, sample());
  const std::string whole = test::read_file(path);
  std::size_t refused = 0;
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    std::string broken = whole;
    broken[byte] = static_cast<char>(broken[byte] ^ (1 << (byte % 8)));
    folder.write("bad.safetensors", broken);
    try {
      std::size_t bytes = 0;
      for (const auto& [name, tensor] : read_safetensors(folder.path() / "bad.safetensors").tensors)
        bytes += tensor.nbytes();
      EXPECT_LE(bytes, whole.size());
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, whole.size() / 4);
}

TEST(Safetensors, AHeaderOfManyMembersIsReadInSeconds) {
  const test::TemporaryFolder folder;
  std::string json = "{";
  for (int i = 0; i < 200'000; ++i)
    json += "\"" + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)";
  json.back() = '}';
  const auto path = folder.write("many.safetensors", with_header(json));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(read_safetensors(path).tensors.size(), 200'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Safetensors, AFailedWriteLeavesTheOldFileUntouchedAndNothingElse) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  write_safetensors(path, sample());
  const auto before = test::read_file(path);
  TensorFile complex_numbers;
  complex_numbers.tensors["c"] = torch::zeros({2}, torch::kComplexFloat);
  EXPECT_THROW(write_safetensors(path, complex_numbers), UserError);
  EXPECT_THROW(write_safetensors(folder.path() / "no" / "such" / "folder", sample()), UserError);
  EXPECT_EQ(test::read_file(path), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

}  // namespace
}  // namespace bdc::host
