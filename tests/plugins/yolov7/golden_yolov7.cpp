#include "plugins/yolov7/golden_yolov7.h"

#include "yolov7/layer_table.h"

namespace yolov7_golden {

std::shared_ptr<yolov7::Network> network(const json& golden) {
  const bool tiny = golden.at("model").get<std::string>().find("tiny") != std::string::npos;
  std::vector<double> anchors;
  for (const auto& level : golden.at("anchors_pixels")) {
    for (const auto& number : level) anchors.push_back(number);
  }
  auto net = std::make_shared<yolov7::Network>(tiny ? yolov7::tiny_table() : yolov7::full_table(),
                                               golden.at("nc").get<std::int64_t>(), 1.0, 1.0, anchors);
  net->eval();
  return net;
}

Tensor in_file_order(const yolov7::Heads& heads, std::size_t level, const Tensor& rows) {
  const auto& l = heads.levels[level];
  return rows.view({heads.batch, 3, l.height, l.width, rows.size(1)});
}

std::vector<CaseName> all_cases() {
  std::vector<CaseName> out;
  for (const std::string name : {"yolov7_tiny.json", "yolov7.json"}) {
    const json golden = file(name);
    for (std::size_t i = 0; i < golden.at("cases").size(); ++i) {
      const json& c = golden["cases"][i];
      out.push_back({name, i,
                     (name == "yolov7.json" ? "full_" : "tiny_") + c.at("name").get<std::string>() + "_" +
                         c.at("weights").get<std::string>()});
    }
  }
  return out;
}

Case::Case(const CaseName& name) : golden(file(name.file)), data(golden.at("cases").at(name.index)) {
  torch::manual_seed(1);
  net = network(golden);
  fill(*net, data.at("weights"), golden);
  pixels = image(data.at("image"), data.at("input_shape").get<std::vector<std::int64_t>>());
  const auto& first = data.at("image_first_values");
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_NEAR(pixels.data_ptr<float>()[i], first[i].get<double>(), 1e-7) << "image value " << i;
  }
}

}  // namespace yolov7_golden
