#include "builtin_hooks/builtin_info.h"

#include <cstdlib>

#include "bdc/learn/method.h"

namespace bdc::host {
namespace {

plugin::OptionSpec to_spec(const MethodOption& option) {
  if (option.is_text || !option.choices.empty()) {
    return plugin::string_option(option.name, option.default_value, option.description, option.choices);
  }
  return plugin::number_option(option.name, std::strtod(option.default_value.c_str(), nullptr), option.description);
}

plugin::HookInfo bdc_info() {
  plugin::HookInfo info;
  info.name = "bdc";
  info.description = "trains on the consensus of all annotators, learnt together with the detector";
  info.needs_predictions = true;
  info.options = {
      plugin::string_option("profile", "absence_aware", "which model", {"absence_aware", "paper", "reference"}),
      plugin::string_option("schedule", "batch",
                            "batch: targets from the very predictions of the step; epoch: from a clean pass over the "
                            "training images before each epoch",
                            {"batch", "epoch"}),
      plugin::int_option("warmup", 1, "epochs on the consensus of the annotations alone", 0, 1000000),
      plugin::bool_option("use_detector", true, "absence_aware: the detector is one more source"),
      plugin::number_option("min_weight", 0.05, "targets with less weight are left out", 0, 1),
      plugin::bool_option("save_labels", false, "write the consensus of every epoch into the run folder")};
  return info;
}

plugin::HookInfo crowd_rcnn_info() {
  plugin::HookInfo info;
  info.name = "crowd_rcnn";
  info.description =
      "Crowd R-CNN: mean boxes, and classes by the annotators' sensitivities with the detector's as prior";
  info.needs_predictions = true;
  info.needs_capabilities = {"roi_heads"};
  info.options = {
      plugin::int_option("warmup", 1, "epochs with a uniform prior instead of the detector's classes", 0, 1000000),
      plugin::number_option("group_iou", 0.5, "annotations that overlap by more are of one object", 0, 1),
      plugin::number_option("detector_iou", 0.5, "detections that overlap an object by so much speak of its class", 0,
                            1)};
  return info;
}

std::vector<plugin::HookInfo> make_table() {
  std::vector<plugin::HookInfo> table{bdc_info(), crowd_rcnn_info()};
  for (const MethodEntry& method : aggregation_methods()) {
    if (method.name == "bdc") continue;
    plugin::HookInfo info;
    info.name = method.name;
    info.description = "trains on the consensus of: " + method.description;
    for (const MethodOption& option : method.options) info.options.push_back(to_spec(option));
    table.push_back(std::move(info));
  }
  return table;
}

}  // namespace

const std::vector<plugin::HookInfo>& builtin_hooks() {
  static const std::vector<plugin::HookInfo> table = make_table();
  return table;
}

const plugin::HookInfo* find_builtin_hook(const std::string& name) {
  for (const plugin::HookInfo& info : builtin_hooks()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace bdc::host
