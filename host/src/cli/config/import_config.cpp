#include "cli/config/import_config.h"

#include <map>
#include <optional>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "cli/config/flat_config.h"
#include "cli/config/schema.h"

namespace bdc::host {
namespace {

constexpr std::size_t kMostNamed = 60;  // of the keys that are not used

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw UserError(ExitCode::config, file + ": " + why);
}

// How a value becomes ours; nothing: it says nothing that we have.
using Convert = std::optional<Json> (*)(const std::string& value);

std::optional<Json> as_number(const std::string& value) {
  const auto number = parse_real(trimmed(value));
  return number ? std::optional<Json>(*number) : std::nullopt;
}

std::optional<Json> as_integer(const std::string& value) {
  const auto number = parse_integer(trimmed(value));
  return number ? std::optional<Json>(*number) : std::nullopt;
}

std::optional<Json> as_flag(const std::string& value) {
  const std::string word = lower_case(value);
  if (word == "true" || word == "1") return Json(true);
  if (word == "false" || word == "0") return Json(false);
  return std::nullopt;
}

std::optional<Json> as_optimizer(const std::string& value) {
  const std::string word = lower_case(value);
  if (word == "sgd" || word == "adamw") return Json(word);
  return std::nullopt;
}

std::optional<Json> as_schedule(const std::string& value) {
  const std::string word = lower_case(value);
  if (word.find("cosine") != std::string::npos) return Json("cosine");
  if (word.find("step") != std::string::npos) return Json("step");
  return std::nullopt;
}

std::optional<Json> as_cosine(const std::string& value) {
  const auto flag = as_flag(value);
  return flag ? std::optional<Json>(flag->get<bool>() ? "cosine" : "linear") : std::nullopt;
}

std::optional<Json> as_flip(const std::string& value) {
  return value == "horizontal" ? std::optional<Json>(0.5) : value == "none" ? std::optional<Json>(0.0) : std::nullopt;
}

std::optional<Json> as_seed(const std::string& value) {
  const auto number = parse_integer(trimmed(value));
  return number && *number >= 0 ? std::optional<Json>(*number) : std::nullopt;
}

struct Row {
  const char *theirs, *ours;
  Convert convert;
};

/// Why a key of theirs is not taken, where that is worth a word.
struct Reason {
  const char *theirs, *why;
};

struct Program {
  const char* name;
  bool (*is)(const FlatConfig& file);
  std::vector<Row> rows;
  std::vector<Reason> reasons;
};

const std::vector<Program>& programs() {
  static const std::vector<Program> table = {
      {"hyperparameters of YOLOv5, v7 or Ultralytics",
       [](const FlatConfig& f) { return f.has("lr0") && (f.has("lrf") || f.has("hsv_h") || f.has("momentum")); },
       {{"lr0", "train.learning_rate", as_number},
        {"lrf", "train.final_share", as_number},
        {"momentum", "train.momentum", as_number},
        {"weight_decay", "train.weight_decay", as_number},
        {"hsv_h", "train.augment.hue", as_number},
        {"hsv_s", "train.augment.saturation", as_number},
        {"hsv_v", "train.augment.value", as_number},
        {"degrees", "train.augment.rotate", as_number},
        {"translate", "train.augment.translate", as_number},
        {"scale", "train.augment.zoom", as_number},
        {"shear", "train.augment.shear", as_number},
        {"flipud", "train.augment.flip_y", as_number},
        {"fliplr", "train.augment.flip_x", as_number},
        {"mosaic", "train.augment.mosaic", as_number},
        {"epochs", "train.epochs", as_integer},
        {"batch", "train.batch_size", as_integer},
        {"batch_size", "train.batch_size", as_integer},
        {"imgsz", "train.input_size", as_integer},
        {"optimizer", "train.optimizer", as_optimizer},
        {"cos_lr", "train.schedule", as_cosine},
        {"amp", "train.amp", as_flag},
        {"seed", "train.seed", as_seed},
        {"patience", "train.patience", as_integer},
        {"workers", "data.workers", as_integer},
        {"conf", "evaluate.min_score", as_number},
        {"iou", "evaluate.nms_iou", as_number},
        {"max_det", "evaluate.max_per_image", as_integer}},
       {{"warmup_epochs", "in epochs; set train.warmup_steps"},
        {"box", "an option of the plugin"},
        {"cls", "an option of the plugin"},
        {"obj", "an option of the plugin"}}},
      {"a config of Detectron2",
       [](const FlatConfig& f) { return f.has_below("SOLVER") || f.has_below("MODEL"); },
       {{"SOLVER.BASE_LR", "train.learning_rate", as_number},
        {"SOLVER.IMS_PER_BATCH", "train.batch_size", as_integer},
        {"SOLVER.MOMENTUM", "train.momentum", as_number},
        {"SOLVER.NESTEROV", "train.nesterov", as_flag},
        {"SOLVER.WEIGHT_DECAY", "train.weight_decay", as_number},
        {"SOLVER.WARMUP_ITERS", "train.warmup_steps", as_integer},
        {"SOLVER.LR_SCHEDULER_NAME", "train.schedule", as_schedule},
        {"SOLVER.CHECKPOINT_PERIOD", "train.checkpoint_every", as_integer},
        {"SOLVER.AMP.ENABLED", "train.amp", as_flag},
        {"INPUT.RANDOM_FLIP", "train.augment.flip_x", as_flip},
        {"DATALOADER.NUM_WORKERS", "data.workers", as_integer},
        {"MODEL.ROI_HEADS.SCORE_THRESH_TEST", "evaluate.min_score", as_number},
        {"MODEL.ROI_HEADS.NMS_THRESH_TEST", "evaluate.nms_iou", as_number},
        {"TEST.DETECTIONS_PER_IMAGE", "evaluate.max_per_image", as_integer},
        {"SEED", "train.seed", as_seed}},
       {{"SOLVER.MAX_ITER", "in steps; set train.epochs"},
        {"SOLVER.STEPS", "in steps"},
        {"_BASE_", "settings in that file are not read"},
        {"MODEL.WEIGHTS", "set train.weights"}}},
      {"a config that MMDetection has dumped",
       [](const FlatConfig& f) {
         return f.has_below("model") &&
                (f.has_below("optimizer") || f.has_below("optim_wrapper") || f.has_below("data"));
       },
       {{"optimizer.type", "train.optimizer", as_optimizer},
        {"optimizer.lr", "train.learning_rate", as_number},
        {"optimizer.momentum", "train.momentum", as_number},
        {"optimizer.nesterov", "train.nesterov", as_flag},
        {"optimizer.weight_decay", "train.weight_decay", as_number},
        {"optim_wrapper.optimizer.type", "train.optimizer", as_optimizer},
        {"optim_wrapper.optimizer.lr", "train.learning_rate", as_number},
        {"optim_wrapper.optimizer.momentum", "train.momentum", as_number},
        {"optim_wrapper.optimizer.nesterov", "train.nesterov", as_flag},
        {"optim_wrapper.optimizer.weight_decay", "train.weight_decay", as_number},
        {"optim_wrapper.accumulative_counts", "train.accumulate", as_integer},
        {"optimizer_config.grad_clip.max_norm", "train.clip_norm", as_number},
        {"optim_wrapper.clip_grad.max_norm", "train.clip_norm", as_number},
        {"lr_config.policy", "train.schedule", as_schedule},
        {"lr_config.warmup_iters", "train.warmup_steps", as_integer},
        {"param_scheduler.1.type", "train.schedule", as_schedule},
        {"runner.max_epochs", "train.epochs", as_integer},
        {"total_epochs", "train.epochs", as_integer},
        {"train_cfg.max_epochs", "train.epochs", as_integer},
        {"data.samples_per_gpu", "train.batch_size", as_integer},
        {"train_dataloader.batch_size", "train.batch_size", as_integer},
        {"data.workers_per_gpu", "data.workers", as_integer},
        {"train_dataloader.num_workers", "data.workers", as_integer},
        {"evaluation.interval", "train.evaluate_every", as_integer},
        {"train_cfg.val_interval", "train.evaluate_every", as_integer},
        {"model.test_cfg.rcnn.score_thr", "evaluate.min_score", as_number},
        {"model.test_cfg.rcnn.nms.iou_threshold", "evaluate.nms_iou", as_number},
        {"model.test_cfg.rcnn.max_per_img", "evaluate.max_per_image", as_integer},
        {"model.test_cfg.score_thr", "evaluate.min_score", as_number},
        {"model.test_cfg.nms.iou_threshold", "evaluate.nms_iou", as_number},
        {"model.test_cfg.max_per_img", "evaluate.max_per_image", as_integer},
        {"seed", "train.seed", as_seed},
        {"randomness.seed", "train.seed", as_seed}},
       {{"load_from", "set train.weights"}}},
  };
  return table;
}

/// Puts a value where a dotted path leads.
void put(Json& layer, const std::string& path, const Json& value) {
  Json* at = &layer;
  std::size_t from = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', from)) {
    at = &(*at)[path.substr(from, dot - from)];
    from = dot + 1;
  }
  (*at)[path.substr(from)] = value;
}

/// "model.backbone" and the like once, instead of every value below: the first two parts of a path.
std::string group_of(const std::string& path) {
  const std::size_t first = path.find('.');
  if (first == std::string::npos) return path;
  return path.substr(0, path.find('.', first + 1));
}

}  // namespace

ImportedConfig import_config(const std::filesystem::path& path) {
  const FlatConfig file = read_flat_config(path);
  const std::string name = path.string();
  const Program* program = nullptr;
  for (const Program& candidate : programs()) {
    if (program == nullptr && candidate.is(file)) program = &candidate;
  }
  if (program == nullptr) {
    refuse(name,
           "is not a config that bdc knows: expected hyperparameters of YOLOv5, v7 or Ultralytics (lr0, ...), "
           "Detectron2's "
           "YAML (SOLVER, MODEL, ...) or MMDetection's dumped JSON (model, optimizer, ...); a data.yaml is named with "
           "--data, our own JSON with --config");
  }
  ImportedConfig out;
  out.layer = Json::object();
  std::map<std::string, std::string> taken;  // ours, theirs
  std::map<std::string, bool> used;          // theirs
  std::vector<std::string> lines;
  for (const Row& row : program->rows) {
    const auto found = file.value.find(row.theirs);
    if (found == file.value.end()) continue;
    const std::optional<Json> value = row.convert(found->second);
    if (!value) continue;
    const auto [at, is_new] = taken.try_emplace(row.ours, row.theirs);
    if (!is_new) refuse(name, "both " + at->second + " and " + row.theirs + " are there; leave one out");
    put(out.layer, row.ours, *value);
    used[row.theirs] = true;
    lines.push_back(std::string(row.ours) + "=" + value->dump() + " (" + row.theirs + ")");
  }
  if (lines.empty())
    refuse(name, std::string("looks like ") + program->name + ", but none of its values is one of ours");
  check_layer(out.layer, name);
  std::vector<std::string> unused;
  std::map<std::string, bool> named;
  for (const std::string& key : file.order) {
    if (used.count(key) > 0) continue;
    std::string why;
    for (const Reason& reason : program->reasons) {
      if (key == reason.theirs || key.rfind(std::string(reason.theirs) + ".", 0) == 0) why = reason.why;
    }
    const std::string shown = printable(group_of(key), 60);
    if (named.emplace(shown, true).second) unused.push_back(shown + (why.empty() ? "" : " (" + why + ")"));
  }
  out.notes.push_back(name + ", " + program->name + ": " + join(lines));
  if (unused.empty()) return out;
  const std::size_t rest = unused.size() > kMostNamed ? unused.size() - kMostNamed : 0;
  unused.resize(unused.size() - rest);
  out.notes.push_back("not used: " + join(unused) + (rest > 0 ? " and " + std::to_string(rest) + " more" : ""));
  return out;
}

}  // namespace bdc::host
