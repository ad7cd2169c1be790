#include "networks/skill_store.h"

#include <torch/nn.h>
#include <unistd.h>

#include <cmath>

#include "bdc/base/atomic_file.h"
#include "bdc/base/file_checksum.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "engine/checkpoint.h"
#include "engine/safetensors.h"
#include "networks/region_proposals.h"
#include "parts/proposal_network.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormat = "bdc_skill_networks";
constexpr const char *kClassifier = "classifier.safetensors", *kRpn = "rpn.safetensors";

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw UserError(ExitCode::data, file.string() + ": " + what);
}

fs::path folder_of(const fs::path& folder, const std::string& skill) {
  bool fit = !skill.empty() && skill.size() <= 100 && skill[0] != '.';
  for (const char c : skill) {
    fit = fit && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.');
  }
  if (!fit) {
    throw UserError(ExitCode::config, "skill '" + printable(skill) +
                                          "': to keep its networks in a folder its name may have letters, digits, "
                                          "'-', '_' and '.' alone");
  }
  return folder / skill;
}

void write_module(const fs::path& file, torch::nn::Module& module) {
  write_safetensors(file, {module_state(module), {{"format", kFormat}}});
}

/// digests: by file name; a file that is not named there is not compared.
void read_module(const fs::path& file, torch::nn::Module& module, const Json& digests) {
  if (!fs::is_regular_file(file)) fail(file, "is missing; remove the skill's folder to train its networks again");
  const TensorFile content = read_safetensors(file);
  for (const auto& [name, tensor] : content.tensors) {
    if (tensor.is_floating_point() && !tensor.isfinite().all().item<bool>()) {
      fail(file, "tensor '" + printable(name, 100) + "' has values that are not finite");
    }
  }
  const std::string name = file.filename().string();
  if (digests.contains(name) && digests[name] != file_checksum(file)) {
    fail(file,
         "is damaged: it does not match its digest in networks.json; remove the skill's folder to train its networks "
         "again");
  }
  try {
    load_module_state(module, content.tensors);
  } catch (const UserError& e) {
    fail(file, e.what());
  }
  module.eval();
}

/// A member of the file, of the wanted kind.
const Json& member(const Json& json, const char* key, bool (*is)(const Json&), const char* kind, const fs::path& file) {
  if (!json.contains(key)) fail(file, "has no \"" + std::string(key) + "\"");
  if (!is(json[key])) fail(file, std::string(key) + ": expected " + kind + ", found " + type_of(json[key]));
  return json[key];
}

bool is_list(const Json& json) {
  return json.is_array();
}
bool is_object(const Json& json) {
  return json.is_object();
}

void check_classes(const Json& json, const std::vector<std::string>& classes, const fs::path& file) {
  const Json& names = member(json, "classes", is_list, "a list of class names", file);
  for (std::size_t n = 0; n < std::max(names.size(), classes.size()); ++n) {
    const std::string theirs = n >= names.size()       ? "nothing"
                               : !names[n].is_string() ? type_of(names[n])
                                                       : "'" + printable(names[n].get<std::string>()) + "'",
                      ours = n < classes.size() ? "'" + printable(classes[n]) + "'" : "nothing";
    if (theirs != ours) {
      fail(file, "the networks were trained for " + std::to_string(names.size()) + " classes, the truth has " +
                     std::to_string(classes.size()) + "; number " + std::to_string(n + 1) + " is " + theirs +
                     " there, " + ours + " here; use another folder");
    }
  }
}

std::vector<double> counts_of(const Json& json, std::size_t classes, const fs::path& file) {
  const Json& list = member(json, "confusion_counts", is_list, "a list of numbers", file);
  const std::size_t wanted = (classes + 1) * (classes + 1);
  std::vector<double> out;
  double sum = 0;
  for (const Json& n : list) {
    const double value = n.is_number() ? n.get<double>() : -1;
    if (!(value >= 0) || !std::isfinite(value)) fail(file, "confusion_counts: expected numbers from 0");
    out.push_back(value);
    sum += value;
  }
  if (out.size() != wanted || !(sum > 0) || !std::isfinite(sum)) {
    fail(file, "confusion_counts: expected " + std::to_string(wanted) + " numbers for " + std::to_string(classes) +
                   " classes and background, some above 0; found " + std::to_string(out.size()));
  }
  return out;
}

/// The first place where two objects of the same shape differ: "rpn.width is 0.5 there, 1 here".
std::string difference(const Json& there, const Json& here, const std::string& at) {
  for (const auto& [key, value] : there.items()) {
    const std::string name = at.empty() ? key : at + "." + key;
    if (value.is_object()) {
      const std::string inner = difference(value, here[key], name);
      if (!inner.empty()) return inner;
    } else if (value != here[key]) {
      return name + " is " + printable(value.dump()) + " there, " + printable(here[key].dump()) + " here";
    }
  }
  return "";
}

}  // namespace

bool has_skill(const fs::path& folder, const std::string& skill) {
  std::error_code ignored;
  return fs::exists(folder_of(folder, skill), ignored);
}

void prepare_networks_folder(const fs::path& folder) {
  const fs::path probe = folder / (".probe." + std::to_string(::getpid()));
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::create_directory(probe, error);
  if (error) {
    throw UserError(ExitCode::failure, folder.string() + ": networks cannot be kept here: " + error.message() +
                                           "; nothing was trained, name another folder");
  }
  fs::remove(probe, error);
}

void save_skill(const fs::path& folder, const std::string& skill, const TrainedSkill& trained) {
  const fs::path final_place = folder_of(folder, skill);
  Json json = {{"format", kFormat},
               {"version", 1},
               {"classes", trained.classes},
               {"settings", to_json(trained.settings)},
               {"confusion_counts", trained.counts}};
  fs::create_directories(folder);
  AtomicFolder writing(final_place.string());
  const fs::path at = writing.path();
  write_module(at / kClassifier, *trained.classifier.module);
  write_module(at / kRpn, *trained.rpn);
  for (const char* name : {kClassifier, kRpn}) json["digests"][name] = file_checksum(at / name);
  write_file_atomically(at / "networks.json", json.dump(1) + "\n");
  writing.commit();
}

std::optional<TrainedSkill> load_skill(const fs::path& folder, const std::string& skill,
                                       const std::vector<std::string>& classes, const Json& wanted) {
  const fs::path at = folder_of(folder, skill), file = at / "networks.json";
  if (!has_skill(folder, skill)) return std::nullopt;
  if (!fs::is_regular_file(file)) fail(file, "is missing; remove the skill's folder to train its networks again");
  TrainedSkill out;
  Json digests = Json::object();
  try {
    const Json json = read_json_file(file);
    if (!json.is_object() || json.value("format", Json()) != kFormat || json.value("version", Json()) != 1) {
      fail(file, "expected an object of format " + std::string(kFormat) + ", version 1");
    }
    check_classes(json, classes, file);
    const Json& settings = member(json, "settings", is_object, "an object", file);
    out.settings = parse_skill_networks(settings, file.string() + ": settings", SkillNetworks{});
    out.classes = classes;
    out.counts = counts_of(json, classes.size(), file);
    if (json.contains("digests")) digests = member(json, "digests", is_object, "an object", file);
  } catch (const UserError& e) {
    throw UserError(ExitCode::data, e.what());  // the file is data, whoever noticed what is wrong with it
  }
  const std::string other =
      difference(to_json(out.settings), to_json(parse_skill_networks(wanted, "networks." + skill, out.settings)), "");
  if (!other.empty()) {
    fail(file, "the networks were trained with other settings: " + other + "; use another folder");
  }
  out.classifier = make_classifier(out.settings.classifier, static_cast<std::int64_t>(classes.size() + 1));
  read_module(at / kClassifier, *out.classifier.module, digests);
  out.rpn = make_proposal_network(out.settings.rpn);
  read_module(at / kRpn, *out.rpn, digests);
  return out;
}

}  // namespace bdc::host
