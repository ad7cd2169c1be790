#include "config/schema.h"

#include <algorithm>
#include <set>

#include "app/user_error.h"
#include "config/options.h"
#include "text/nearest.h"

namespace bdc::host {
namespace {

using plugin::bool_option;
using plugin::int_option;
using plugin::number_option;
using plugin::string_option;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw UserError(ExitCode::config, where + ": " + what);
}

void require_object(const Json& value, const std::string& where) {
  if (!value.is_object()) fail(where, "expected an object, found " + type_of(value));
}

void check_free_options(const Json& options, const std::string& where) {
  require_object(options, where);
  for (const auto& [key, value] : options.items()) {
    if (value.is_structured() || value.is_null()) {
      fail(where + "." + printable(key), "expected a bool, number or string, found " + type_of(value));
    }
  }
}

void check_hooks(const Json& hooks, const std::string& source) {
  const std::string where = source + ": hooks";
  if (!hooks.is_array())
    fail(where, "expected a list of {\"name\", \"priority\", \"options\"}, found " + type_of(hooks));
  std::set<std::string> names;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const std::string at = where + "[" + std::to_string(i) + "]";
    require_object(hooks[i], at);
    for (const auto& [key, value] : hooks[i].items()) {
      if (key == "name") {
        if (!value.is_string() || value.get<std::string>().empty()) {
          fail(at + ".name", "expected a hook's name, found " + type_of(value));
        }
        if (!names.insert(value.get<std::string>()).second) {
          fail(at + ".name", "hook '" + printable(value.get<std::string>()) + "' is in the list twice");
        }
      } else if (key == "priority") {
        (void)check_option(int_option("priority", 50, "", 0, 100), value, at + ".priority");
      } else if (key == "options") {
        check_free_options(value, at + ".options");
      } else {
        fail(at + "." + printable(key), "unknown key" + did_you_mean(key, {"name", "priority", "options"}));
      }
    }
    if (!hooks[i].contains("name")) fail(at, "has no \"name\"");
  }
}

/// Names that may stand directly below `prefix` ("" for the top).
std::vector<std::string> children(const std::string& prefix) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& path) {
    if (path.size() <= prefix.size() || path.compare(0, prefix.size(), prefix) != 0) return;
    const std::string name = path.substr(prefix.size(), path.find('.', prefix.size()) - prefix.size());
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  };
  for (const auto& key : config_keys()) add(key.spec.name);
  add("plugin.options");
  add("hooks");
  return out;
}

/// The key of any section whose last name is nearest; "" when none is near.
std::string in_another_section(const std::string& name) {
  std::vector<std::string> leaves;
  for (const auto& key : config_keys()) leaves.push_back(key.spec.name.substr(key.spec.name.rfind('.') + 1));
  const std::string near = nearest(name, leaves);
  if (near.empty()) return "";
  return config_keys()[static_cast<std::size_t>(std::find(leaves.begin(), leaves.end(), near) - leaves.begin())]
      .spec.name;
}

void check_section(const Json& section, const std::string& prefix, const std::string& source) {
  const auto known = children(prefix);
  for (const auto& [name, value] : section.items()) {
    const std::string path = prefix + name, where = source + ": " + printable(path);
    if (path == "_base_") continue;
    if (path == "hooks") {
      check_hooks(value, source);
      continue;
    }
    if (path == "plugin.options") {
      check_free_options(value, where);
      continue;
    }
    const auto& keys = config_keys();
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& k) { return k.spec.name == path; });
    if (key != keys.end()) {
      if (!(key->from_plugin && value.is_null())) (void)check_option(key->spec, value, where);
    } else if (std::find(known.begin(), known.end(), name) != known.end()) {
      require_object(value, where);
      check_section(value, path + ".", source);
    } else {
      std::string hint = nearest(name, known);
      hint = hint.empty() ? "" : prefix + hint;
      if (hint.empty()) hint = in_another_section(name);
      fail(where,
           hint.empty() ? "unknown key; known here: " + join(known) : "unknown key; did you mean '" + hint + "'?");
    }
  }
}

void put(Json& root, const std::string& path, Json value) {
  Json* at = &root;
  std::size_t from = 0;
  for (std::size_t dot; (dot = path.find('.', from)) != std::string::npos; from = dot + 1) {
    at = &(*at)[path.substr(from, dot - from)];
  }
  (*at)[path.substr(from)] = std::move(value);
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = {
      {string_option("plugin.name", "", "the detector; see `bdc-host plugins list`")},
      {string_option("data.source", "auto", "auto: files when data.labels is set, otherwise the built-in shapes",
                     {"auto", "shapes", "files"})},
      {string_option("data.labels", "", "labels of the training images: a file or folder, or several with commas")},
      {string_option("data.images", "", "folder with the training images")},
      {string_option("data.format", "", "format of the labels (docs/formats.md); empty: detected")},
      {string_option("data.role", "auto", "auto: labels of a single annotator are the truth, others a crowd's",
                     {"auto", "crowd", "truth"})},
      {string_option("data.class_names", "", "classes.txt or data.yaml, for labels without class names")},
      {string_option("data.truth", "", "true boxes of the training images, for reports only")},
      {string_option("data.val_labels", "", "labels of the images to evaluate on")},
      {string_option("data.val_images", "", "folder with the images to evaluate on; empty: data.images")},
      {number_option("data.val_share", 0.0, "share of the training images to evaluate on instead", 0, 0.9)},
      {int_option("data.split_seed", 0, "another seed, another choice of data.val_share", 0, {})},
      {bool_option("data.strict", false, "a missing or broken image stops the run instead of being left out")},
      {int_option("data.max_megapixels", 128, "larger images are refused", 1, 2000)},
      {int_option("data.cache_mb", 256, "memory for decoded images; 0: none", 0, 1000000)},
      {int_option("data.workers", 2, "threads that load batches ahead, at most one per core; 0: none", 0, 256)},
      {int_option("data.shapes.train_images", 400, "images to train on", 1, 1000000)},
      {int_option("data.shapes.test_images", 100, "held-out images to evaluate on", 1, 1000000)},
      {int_option("data.shapes.classes", 4, "kinds of shapes", 1, 12)},
      {int_option("data.shapes.size", 96, "edge of the square images in pixels", 32, 4096)},
      {int_option("data.shapes.max_objects", 3, "most shapes in an image", 1, 50)},
      {int_option("data.shapes.seed", 1, "another seed, other images", 0, {})},
      {int_option("data.shapes.crowd.experts", 0, "simulated annotators with sure hands", 0, 10000)},
      {int_option("data.shapes.crowd.average", 0, "simulated annotators of ordinary skill", 0, 10000)},
      {int_option("data.shapes.crowd.poor", 0, "simulated annotators who often err", 0, 10000)},
      {int_option("data.shapes.crowd.random", 0, "simulated annotators who guess", 0, 10000)},
      {number_option("data.shapes.crowd.share", 1.0, "share of the images that each of them sees", 0.001, 1)},
      {int_option("train.epochs", 10, "passes over the training images", 1, 100000)},
      {string_option("train.weights", "", "weights to begin with: safetensors, or a .pt file of torch.save")},
      {int_option("train.batch_size", 16, "images in a step", 1, 4096), true},
      {int_option("train.input_size", 96, "edge of the detector's square input in pixels", 32, 8192), true},
      {string_option("train.optimizer", "sgd", "how weights are updated", {"sgd", "adamw"}), true},
      {number_option("train.learning_rate", 0.01, "at the start, after warm-up", 0, 1000), true},
      {number_option("train.momentum", 0.9, "of sgd", 0, 1), true},
      {bool_option("train.nesterov", false, "sgd looks ahead along its momentum")},
      {number_option("train.weight_decay", 0.0005, "pull of the weights towards zero", 0, 1000), true},
      {string_option("train.schedule", "cosine", "course of the learning rate after warm-up",
                     {"cosine", "linear", "step", "constant"})},
      {number_option("train.final_share", 0.01, "of the learning rate that is left at the end (cosine, linear)", 0, 1)},
      {int_option("train.warmup_steps", 20, "steps in which the learning rate grows from zero", 0, 1000000)},
      {int_option("train.accumulate", 1, "batches whose gradients are added up for one step", 1, 4096)},
      {number_option("train.ema_decay", 0.9999, "of the running mean of the weights that is evaluated; 0: none", 0, 1)},
      {number_option("train.hook_min_score", 0.1, "weaker predictions are not shown to hooks", 0, 1)},
      {int_option("train.patience", 0, "epochs without a better AP after which training ends; 0: never", 0, 100000)},
      {int_option("train.checkpoint_every", 0, "steps between checkpoints; 0: at the end of an epoch", 0, {})},
      {number_option("train.clip_norm", 10.0, "largest norm of the gradient; 0: no limit", 0, {})},
      {int_option("train.seed", 0, "of weights, order and sampling", 0, {})},
      {int_option("train.threads", 0, "of LibTorch; 0: all cores", 0, 1024)},
      {string_option("train.device", "auto", "cpu, cuda or cuda:N; auto: CUDA where there is a device")},
      {bool_option("train.amp", false, "half precision where that is safe (float16 on CUDA, bfloat16 on the CPU)")},
      {int_option("train.evaluate_every", 1, "epochs between evaluations; the last epoch is always evaluated", 1, {})},
      {number_option("train.augment.rotate", 0.0, "most degrees", 0, 180)},
      {number_option("train.augment.translate", 0.0, "most shift, of the image's size", 0, 0.9)},
      {number_option("train.augment.zoom", 0.0, "size changes by a factor of 1 - zoom .. 1 + zoom", 0, 0.9)},
      {number_option("train.augment.shear", 0.0, "most degrees", 0, 60)},
      {number_option("train.augment.flip_x", 0.0, "probability of left-right", 0, 1)},
      {number_option("train.augment.flip_y", 0.0, "probability of upside-down", 0, 1)},
      {number_option("train.augment.hue", 0.0, "most of the colour circle", 0, 0.5)},
      {number_option("train.augment.saturation", 0.0, "changes by a factor of 1 - s .. 1 + s", 0, 1)},
      {number_option("train.augment.value", 0.0, "brightness changes by a factor of 1 - v .. 1 + v", 0, 1)},
      {number_option("train.augment.mosaic", 0.0, "probability of four images in one; not with a crowd's labels", 0,
                     1)},
      {number_option("evaluate.min_score", 0.01, "detections below are left out", 0, 1)},
      {number_option("evaluate.nms_iou", 0.6, "overlap above which the weaker of two boxes goes", 0, 1)},
      {int_option("evaluate.max_per_image", 100, "most detections in an image", 1, 10000)},
      {string_option("output.folder", "runs", "where run folders are made")},
      {string_option("output.name", "", "name of the run folder; empty: the plugin's name and a number")},
  };
  return keys;
}

Json default_config() {
  Json out = Json::object();
  for (const auto& key : config_keys()) {
    put(out, key.spec.name, key.from_plugin ? Json(nullptr) : to_json(key.spec.default_value));
    if (key.spec.name == "plugin.name") {
      out["plugin"]["options"] = Json::object();
      out["hooks"] = Json::array();
    }
  }
  return out;
}

void check_layer(const Json& layer, const std::string& source) {
  if (!layer.is_object()) fail(source, "expected an object at the top, found " + type_of(layer));
  check_section(layer, "", source);
}

}  // namespace bdc::host
