#include "synth/network_settings.h"

#include "bdc/base/text.h"
#include "files/json_section.h"

namespace bdc::host {
namespace {

constexpr std::int64_t kSmallestAlexNetCrop = 63;  // its last pooling has nothing left of less

SkillNetworks pair_of(const char* classifier, const char* backbone) {
  SkillNetworks out;
  out.classifier.kind = classifier;
  out.classifier.training = {5, 256, 0.005, "sgd", ""};
  out.rpn.backbone = backbone;
  out.rpn.training = {5, 16, 0.001, "sgd", ""};
  return out;
}

std::map<std::string, SkillNetworks> published() {
  return {{"poor", pair_of("alexnet", "resnet18")},
          {"average", pair_of("vgg16", "resnet50")},
          {"expert", pair_of("resnet50", "resnet101")}};
}

std::map<std::string, SkillNetworks> small() {
  auto out = published();
  const auto set = [&](const char* skill, std::int64_t epochs, double rate, std::int64_t input, std::int64_t pyramid,
                       std::int64_t rpn_epochs) {
    SkillNetworks& s = out[skill];
    s.classifier.width = s.rpn.width = 0.125;
    s.classifier.crop = 64;
    s.classifier.training = {epochs, 32, rate, "adamw", ""};
    s.rpn.pyramid = pyramid;
    s.rpn.input = input;
    s.rpn.anchor = static_cast<double>(input) / 12;
    s.rpn.training = {rpn_epochs, 8, 0.002, "adamw", ""};
  };
  set("poor", 4, 0.001, 64, 32, 4);
  set("average", 7, 0.001, 96, 32, 4);
  set("expert", 9, 0.002, 128, 64, 6);
  return out;
}

NetworkTraining parse_training(JsonSection& s, NetworkTraining out) {
  out.epochs = s.integer("epochs", out.epochs, 1, 100000);
  out.batch = s.integer("batch", out.batch, 1, 65536);
  out.learning_rate = s.number("learning_rate", out.learning_rate, 1e-9, 100);
  out.optimizer = s.choice("optimizer", out.optimizer, {"sgd", "adamw"});
  out.weights = s.text("weights", out.weights);
  return out;
}

void put_training(Json& out, const NetworkTraining& t) {
  out["epochs"] = t.epochs;
  out["batch"] = t.batch;
  out["learning_rate"] = t.learning_rate;
  out["optimizer"] = t.optimizer;
  out["weights"] = t.weights;
}

ClassifierSettings parse_classifier(const Json& json, const std::string& where, ClassifierSettings out) {
  JsonSection s(json, where);
  out.kind = s.choice("kind", out.kind, {"alexnet", "vgg16", "resnet50"});
  out.width = s.number("width", out.width, 0.01, 2);
  out.crop = s.integer("crop", out.crop, 32, 2048);
  out.training = parse_training(s, out.training);
  s.finish();
  if (out.kind == "alexnet" && out.crop < kSmallestAlexNetCrop) {
    config_error(s.at("crop"), "alexnet needs crops of at least " + std::to_string(kSmallestAlexNetCrop) +
                                   " pixels, found " + std::to_string(out.crop));
  }
  return out;
}

ProposalSettings parse_rpn(const Json& json, const std::string& where, ProposalSettings out) {
  JsonSection s(json, where);
  out.backbone = s.choice("backbone", out.backbone, {"resnet18", "resnet34", "resnet50", "resnet101"});
  out.width = s.number("width", out.width, 0.01, 2);
  out.pyramid = s.integer("pyramid", out.pyramid, 8, 1024);
  out.input = s.integer("input", out.input, 32, 8192);
  out.anchor = s.number("anchor", out.anchor, 1, 4096);
  out.sample = s.integer("sample", out.sample, 2, 1000000);
  out.training = parse_training(s, out.training);
  if (json.contains("weights") && !out.training.weights.empty()) out.norm = "frozen";
  out.norm = s.choice("norm", out.norm, {"batch", "group", "frozen"});
  s.finish();
  return out;
}

}  // namespace

SkillNetworks parse_skill_networks(const Json& json, const std::string& where, const SkillNetworks& base) {
  JsonSection s(json, where);
  SkillNetworks out = base;
  if (s.has("classifier")) out.classifier = parse_classifier(json["classifier"], s.at("classifier"), out.classifier);
  if (s.has("rpn")) out.rpn = parse_rpn(json["rpn"], s.at("rpn"), out.rpn);
  out.seed = static_cast<std::uint64_t>(s.integer("seed", static_cast<std::int64_t>(out.seed), 0, INT64_MAX));
  out.held_out = s.number("held_out", out.held_out, 0.01, 0.9);
  out.backgrounds = s.integer("backgrounds", out.backgrounds, 1, 1000);
  s.finish();
  return out;
}

Json to_json(const SkillNetworks& n) {
  Json classifier = {{"kind", n.classifier.kind}, {"width", n.classifier.width}, {"crop", n.classifier.crop}};
  put_training(classifier, n.classifier.training);
  Json rpn = {{"backbone", n.rpn.backbone}, {"width", n.rpn.width},   {"pyramid", n.rpn.pyramid},
              {"input", n.rpn.input},       {"anchor", n.rpn.anchor}, {"sample", n.rpn.sample},
              {"norm", n.rpn.norm}};
  put_training(rpn, n.rpn.training);
  return {{"classifier", classifier},
          {"rpn", rpn},
          {"seed", n.seed},
          {"held_out", n.held_out},
          {"backgrounds", n.backgrounds}};
}

NetworkSettings parse_network_settings(const Json& json, const std::string& where, const std::string& size,
                                       std::uint64_t seed) {
  JsonSection s(json, where);
  NetworkSettings out;
  out.skills = s.choice("size", size, {"small", "published"}) == "small" ? small() : published();
  out.proposals = s.integer("proposals", out.proposals, 1, 100000);
  out.nms = s.number("nms", out.nms, 0, 1);
  out.dirichlet_scale = s.number("dirichlet_scale", out.dirichlet_scale, 1e-6, 1e6);
  out.device = s.text("device", out.device);
  Json common = Json::object();  // what may be said of all skills at once
  for (const char* key : {"seed", "held_out", "backgrounds", "classifier", "rpn"}) {
    if (s.has(key)) common[key] = json[key];
  }
  for (auto& [name, networks] : out.skills) {
    networks.seed = seed;
    networks = parse_skill_networks(common, where, networks);
  }
  if (s.has("skills")) {
    const Json& skills = json["skills"];
    if (!skills.is_object()) config_error(s.at("skills"), "expected an object, found " + type_of(skills));
    for (const auto& [name, given] : skills.items()) {
      const auto known = out.skills.find(name);
      const SkillNetworks base = known == out.skills.end() ? out.skills.at("average") : known->second;
      out.skills[name] = parse_skill_networks(given, s.at("skills." + printable(name)), base);
    }
  }
  s.finish();
  return out;
}

}  // namespace bdc::host
