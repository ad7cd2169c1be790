#include "plugins/yolov7/golden_yolov7.h"

#include <map>
#include <sstream>

#include "yolov7/layer_table.h"

namespace yolov7_golden {

namespace {

bool is_tiny(const json& golden) {
  return golden.at("model").get<std::string>().find("tiny") != std::string::npos;
}

std::vector<double> anchors(const json& golden) {
  std::vector<double> out;
  for (const auto& level : golden.at("anchors_pixels")) {
    for (const auto& number : level) out.push_back(number);
  }
  return out;
}

}  // namespace

std::shared_ptr<yolov7::Network> network(const json& golden) {
  auto net = std::make_shared<yolov7::Network>(is_tiny(golden) ? yolov7::tiny_table() : yolov7::full_table(),
                                               golden.at("nc").get<std::int64_t>(), 1.0, 1.0, anchors(golden));
  net->eval();
  return net;
}

std::unique_ptr<yolov7::Detector> detector(const json& golden, const std::string& labels_per_box) {
  std::map<std::string, bdc::plugin::OptionValue> options;
  for (const auto& spec : yolov7::Detector::describe().options) options[spec.name] = spec.default_value;
  std::ostringstream list;
  for (const double edge : anchors(golden)) list << edge << " ";
  options["variant"] = std::string(is_tiny(golden) ? "tiny" : "full");
  options["anchors"] = list.str();
  options["labels_per_box"] = labels_per_box;
  auto out = std::make_unique<yolov7::Detector>(
      bdc::plugin::DetectorConfig{golden.at("nc").get<std::int64_t>(), 640, bdc::plugin::Options(options)});
  out->module().eval();
  return out;
}

Tensor in_file_order(const yolov7::Heads& heads, std::size_t level, const Tensor& rows) {
  const auto& l = heads.levels[level];
  return rows.view({heads.batch, -1, l.height, l.width, rows.size(1)});
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
