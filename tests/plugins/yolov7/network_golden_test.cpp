#include <map>

#include "plugins/yolov7/golden_yolov7.h"

namespace yolov7_golden {
namespace {

class Yolov7Files : public ::testing::TestWithParam<std::string> {};

TEST_P(Yolov7Files, NamesShapesAndConstantsAreThoseOfTheOfficialCheckpoint) {
  const json golden = file(GetParam());
  const auto net = network(golden);
  std::map<std::string, Tensor> ours;
  std::vector<std::string> order;
  for (const auto& item : net->named_parameters()) {
    ours[item.key()] = item.value();
    order.push_back(item.key());
  }
  std::int64_t parameters = 0;
  for (const auto& [name, tensor] : ours) parameters += tensor.numel();
  EXPECT_EQ(parameters, golden.at("n_parameters").get<std::int64_t>());
  for (const auto& item : net->named_buffers()) ours[item.key()] = item.value();

  EXPECT_EQ(ours.size(), golden.at("n_state_dict").get<std::size_t>());
  std::vector<std::string> theirs;
  for (const auto& row : golden.at("state_dict")) {
    const std::string name = row.at(0);
    ASSERT_EQ(ours.count(name), 1U) << name << " is missing";
    EXPECT_EQ(ours[name].sizes().vec(), row.at(1).get<std::vector<std::int64_t>>()) << name;
    EXPECT_EQ(ours[name].is_floating_point(), row.size() < 3 || row.at(2) != "int") << name;
    if (std::find(order.begin(), order.end(), name) != order.end()) theirs.push_back(name);
  }
  EXPECT_EQ(order, theirs) << "parameters in another order";
  for (const auto& [name, values] : golden.at("constant_tensors").items()) {
    const Tensor expected = torch::tensor(values.get<std::vector<double>>(), torch::kFloat32);
    EXPECT_TRUE(torch::equal(ours.at(name).flatten(), expected)) << name;
  }
}

TEST_P(Yolov7Files, WeightRulesGiveTheExampleValues) {
  const json golden = file(GetParam());
  const auto net = network(golden);
  for (const auto& [rule, examples] : golden.at("weights_rule_examples").items()) {
    fill(*net, rule, golden);
    std::map<std::string, Tensor> all;
    for (const auto& item : net->named_parameters()) all[item.key()] = item.value();
    for (const auto& item : net->named_buffers()) all[item.key()] = item.value();
    for (const auto& example : examples) {
      const Tensor tensor = all.at(example.at("name"));
      for (std::size_t i = 0; i < example.at("index").size(); ++i) {
        const auto at = example["index"][i].get<std::int64_t>();
        EXPECT_NEAR(tensor.data_ptr<float>()[at], example["value"][i].get<double>(), 1e-7) << rule << " " << example;
      }
    }
  }
}

TEST_P(Yolov7Files, OneTrainingForwardMovesTheRunningStatisticsLikeTheOriginal) {
  const json golden = file(GetParam());
  const json& step = golden.at("batchnorm_train_step");
  const auto net = network(golden);
  const std::string note = step.at("note");  // "hash weights and hash image 2x3x64x64; ..."
  const std::string rule = note.substr(0, note.find(' '));
  fill(*net, rule, golden);
  net->train();
  torch::NoGradGuard no_grad;
  const auto heads = net->forward(image(rule, golden::shape_in(note)));
  ASSERT_EQ(heads->levels.size(), step.at("train_raw").size());
  for (std::size_t l = 0; l < heads->levels.size(); ++l) {
    const json& summary = step.at("train_raw").at(l);
    expect_summary(in_file_order(*heads, l, heads->levels[l].raw), summary, tolerance_of(summary),
                   "level " + std::to_string(l));
  }
  const auto buffers = net->named_buffers();
  for (const auto& [name, summary] : step.at("running_after").items()) {
    expect_summary(buffers[name], summary, tolerance_of(summary), name);
  }
  EXPECT_EQ(buffers["model.0.bn.num_batches_tracked"].item<std::int64_t>(), 1);
}

INSTANTIATE_TEST_SUITE_P(Golden, Yolov7Files, ::testing::Values("yolov7_tiny.json", "yolov7.json"),
                         [](const auto& which) { return which.param == "yolov7.json" ? "full" : "tiny"; });

class Yolov7Forward : public ::testing::TestWithParam<CaseName> {};

TEST_P(Yolov7Forward, EveryLayerAndTheRawAndDecodedOutputsAreTheOriginals) {
  Case c(GetParam());
  torch::NoGradGuard no_grad;
  const json& layers = c.data.at("layers");
  std::size_t seen = 0;
  const auto heads = c.net->forward(c.pixels, [&](std::size_t n, const Tensor& out) {
    const json& expected = layers.at(n);
    ASSERT_EQ(expected.at("i").get<std::size_t>(), n);
    // These summaries come without a float64 run: 2e-5 of the layer's mean size, and of the largest sample.
    double largest = expected.at("abs_sum").get<double>() / static_cast<double>(out.numel());
    for (const auto& s : expected.at("samples")) largest = std::max(largest, std::abs(s.get<double>()));
    expect_summary(out, expected, 2e-5 * largest, "layer " + std::to_string(n));
    ++seen;
  });
  EXPECT_EQ(seen, layers.size());

  std::vector<Tensor> decoded;
  ASSERT_EQ(heads->levels.size(), c.data.at("train_raw").size());
  for (std::size_t l = 0; l < heads->levels.size(); ++l) {
    const yolov7::Level& level = heads->levels[l];
    const json& raw = c.data.at("train_raw").at(l);
    expect_summary(in_file_order(*heads, l, level.raw), raw, tolerance_of(raw), "raw level " + std::to_string(l));
    const auto rows = torch::arange(level.raw.size(0), torch::kInt64);
    const Tensor boxes = boxes_of(level, level.raw, place_of(level, rows));
    const Tensor values = torch::cat({boxes, level.raw.slice(1, 4).sigmoid()}, 1);
    decoded.push_back(in_file_order(*heads, l, values).view({heads->batch, -1, values.size(1)}));
  }
  const json& summary = c.data.at("eval_decoded");
  expect_summary(torch::cat(decoded, 1), summary, tolerance_of(summary), "decoded");
}

INSTANTIATE_TEST_SUITE_P(Golden, Yolov7Forward, ::testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace yolov7_golden
