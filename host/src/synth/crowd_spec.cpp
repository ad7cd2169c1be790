#include "synth/crowd_spec.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>

#include "bdc/base/error.h"
#include "bdc/base/nearest.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "files/json_section.h"
#include "synth/network_settings.h"

namespace bdc::host {
namespace {

constexpr std::int64_t kMostAnnotators = 999999;  // of one skill

struct Skill {
  std::string name;
  SkillNumbers numbers;
};

const std::vector<Skill>& skill_table() {
  static const std::vector<Skill> table = {{"expert", {0.95, 0.10, 0.74, 0.04}},
                                           {"average", {0.88, 0.25, 0.55, 0.09}},
                                           {"poor", {0.78, 0.45, 0.35, 0.16}},
                                           {"random", {0.70, 0.90, 0.00, 0.60}}};
  return table;
}

const Skill* find_skill(const std::string& name) {
  for (const Skill& skill : skill_table()) {
    if (skill.name == name) return &skill;
  }
  return nullptr;
}

std::vector<std::string> skills() {
  std::vector<std::string> names;
  for (const Skill& skill : skill_table()) names.push_back(skill.name);
  return names;
}

GroupSpec group(const char* skill, std::int64_t annotators, double coverage) {
  return {skill, annotators, coverage, skill_numbers(skill)};
}

/// Whether "kind" says network.
bool network_kind(JsonSection& s, bool otherwise) {
  return s.choice("kind", otherwise ? "network" : "parametric", {"parametric", "network"}) == "network";
}

void check_network_skill(const GroupSpec& group, const CrowdSpec& spec, const std::string& where) {
  const bool known = find_skill(group.skill) != nullptr;
  const bool described = spec.networks.contains("skills") && spec.networks["skills"].contains(group.skill);
  if (known || described) return;
  config_error(where, "skill '" + printable(group.skill) + "' is not one of " + join(skills()) +
                          ", so its networks must be given under networks.skills");
}

GroupSpec parse_group(const Json& json, const std::string& where, bool network) {
  JsonSection s(json, where);
  GroupSpec out;
  out.skill = s.text("skill", "");
  const Skill* known = find_skill(out.skill);
  if (out.skill.empty()) {
    config_error(member_place(where, "skill"),
                 "expected one of " + join(skills()) + ", or a name of your own with its numbers");
  }
  out.annotators = s.integer("annotators", 1, 0, kMostAnnotators);
  out.coverage = s.number("coverage", 1, 1e-6, 1);
  out.network = network_kind(s, network);
  const std::vector<std::string> kinds = {"any", "empty", "occupied"};
  const std::string shown = s.choice("shown", "any", kinds);
  out.shown = static_cast<Shown>(std::find(kinds.begin(), kinds.end(), shown) - kinds.begin());
  out.together = s.boolean("together", false);
  if (out.network) {
    s.finish();
    return out;
  }
  out.numbers = known != nullptr ? known->numbers : SkillNumbers{-1, -1, -1, -1};
  SkillNumbers& n = out.numbers;
  n.recall = s.number("recall", n.recall, 0, 1);
  n.spurious_rate = s.number("spurious", n.spurious_rate, 0, 100);
  n.class_accuracy = s.number("accuracy", n.class_accuracy, 0, 1);
  n.box_noise = s.number("box_noise", n.box_noise, 0, 5);
  n.bias = s.number("bias", n.bias, 0, 5);
  n.accuracy_spread = s.number("accuracy_spread", n.accuracy_spread, 0, 1);
  s.finish();
  if (n.recall < 0 || n.spurious_rate < 0 || n.class_accuracy < 0 || n.box_noise < 0) {
    config_error(where, "skill '" + printable(out.skill) + "' is not one of " + join(skills()) +
                            ", so it needs recall, spurious, accuracy and box_noise");
  }
  return out;
}

ConfusionSpec parse_confusion(const Json& json, const std::string& where) {
  JsonSection s(json, where);
  ConfusionSpec out;
  out.where = where;
  const std::vector<std::string> kinds = {"neighbours", "uniform", "related"};
  const std::string kind = s.choice("kind", s.has("related") ? "related" : "neighbours", kinds);
  out.kind = static_cast<ConfusionRule::Kind>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
  for (const char* key : {"related", "share"}) {
    if (s.has(key) && kind != "related") {
      config_error(s.at(key), "has no meaning for the kind '" + kind + "'; leave it out, or set \"kind\": \"related\"");
    }
  }
  out.related_share = s.number("share", out.related_share, 0, 1);
  const auto sets = s.list("related");
  if (kind == "related" && sets.empty()) {
    config_error(s.at("related"), "expected sets of classes that are confused with each other, found none");
  }
  for (std::size_t n = 0; n < sets.size(); ++n) {
    std::vector<std::string> names;
    if (!sets[n]->is_array())
      config_error(s.element("related", n), "expected a list of class names, found " + type_of(*sets[n]));
    for (const Json& name : *sets[n]) {
      if (!name.is_string()) config_error(s.element("related", n), "expected class names, found " + type_of(name));
      names.push_back(name.get<std::string>());
    }
    if (names.size() < 2) config_error(s.element("related", n), "expected at least two class names");
    out.related.push_back(std::move(names));
  }
  s.finish();
  return out;
}

DetectorSpec parse_detector(const Json& json, const std::string& where) {
  JsonSection s(json, where);
  DetectorSpec out;
  out.file = s.text("file", "");
  out.name = s.text("name", "");
  out.min_score = s.number("min_score", out.min_score, 0, 1);
  out.coverage = s.number("coverage", out.coverage, 1e-6, 1);
  s.finish();
  if (out.file.empty() || out.name.empty()) config_error(where, "expected a \"name\" and a \"file\" of results");
  return out;
}

/// Annotators of each skill, over all groups.
std::map<std::string, std::int64_t> annotators_of(const CrowdSpec& spec) {
  std::map<std::string, std::int64_t> out;
  for (const GroupSpec& g : spec.groups) out[g.skill] += g.annotators;
  return out;
}

/// Throws unless the crowd has members, not too many of a skill, each with a name of its own.
void check_members(const CrowdSpec& spec, const std::string& source) {
  std::int64_t all = 0;
  for (const auto& [skill, annotators] : annotators_of(spec)) {
    all += annotators;
    if (annotators > kMostAnnotators) {
      config_error(member_place(source, "groups"), "expected at most " + std::to_string(kMostAnnotators) +
                                                       " annotators of skill '" + printable(skill) + "', found " +
                                                       std::to_string(annotators));
    }
  }
  if (all == 0 && spec.detectors.empty()) {
    config_error(source, spec.groups.empty() ? "expected a preset, groups or detectors, found none"
                                             : "its groups have no annotators and there is no detector");
  }
  const std::string twice = name_given_twice(spec);
  if (!twice.empty()) {
    config_error(member_place(source, "detectors"),
                 "'" + printable(twice) + "' is the name of two annotators; choose another");
  }
}

struct Preset {
  std::string name;
  CrowdSpec crowd;
};

CrowdSpec crowd_of(std::vector<GroupSpec> groups) {
  CrowdSpec out;
  out.groups = std::move(groups);
  return out;
}

CrowdSpec screening() {
  GroupSpec batch = group("average", 3, 0.45), mixed = group("average", 7, 0.13), empty = group("average", 7, 0.18);
  batch.together = true;
  empty.shown = Shown::empty;
  CrowdSpec out = crowd_of({batch, mixed, empty});
  out.empty_share = 0.7;
  return out;
}

/// In the order they are listed to the user.
const std::vector<Preset>& presets() {
  static const std::vector<Preset> table = {
      {"voc-full", crowd_of({group("average", 10, 1)})},
      {"voc-mix", crowd_of({group("expert", 5, 1), group("average", 20, 1)})},
      {"coco-full", crowd_of({group("average", 10, 1)})},
      {"coco-mix", crowd_of({group("expert", 20, 0.05), group("average", 550, 0.01), group("poor", 330, 0.005),
                             group("random", 100, 0.01)})},
      {"noisy", crowd_of({group("expert", 3, 0.6), group("poor", 17, 0.6), group("random", 5, 0.6)})},
      {"screening", screening()}};
  return table;
}

}  // namespace

std::string name_given_twice(const CrowdSpec& spec) {
  const auto groups = annotators_of(spec);
  std::set<std::string> names;
  for (const DetectorSpec& d : spec.detectors) {
    const auto dash = d.name.rfind('-');
    const std::string number = dash == std::string::npos ? "" : d.name.substr(dash + 1);
    const auto group = groups.find(d.name.substr(0, dash));
    const std::int64_t n = std::strtoll(number.c_str(), nullptr, 10);
    const bool of_group = group != groups.end() && n >= 1 && n <= group->second && std::to_string(n) == number;
    if (of_group || !names.insert(d.name).second) return d.name;
  }
  return "";
}

SkillNumbers skill_numbers(const std::string& skill) {
  if (const Skill* known = find_skill(skill)) return known->numbers;
  throw std::invalid_argument("no skill is called " + skill);
}

std::vector<std::string> crowd_presets() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return names;
}

CrowdSpec crowd_preset(const std::string& name) {
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset.crowd;
  }
  throw UserError(ExitCode::usage,
                  "no preset is called '" + printable(name) + "'" + did_you_mean(name, crowd_presets()));
}

std::vector<std::string> CrowdSpec::network_skills() const {
  std::vector<std::string> out;
  for (const GroupSpec& g : groups) {
    const bool needed = g.network && g.annotators > 0 && g.skill != "random";
    if (needed && std::find(out.begin(), out.end(), g.skill) == out.end()) out.push_back(g.skill);
  }
  return out;
}

void use_networks(CrowdSpec& spec, const std::string& source) {
  for (GroupSpec& g : spec.groups) {
    check_network_skill(g, spec, source);
    g.network = true;
  }
}

CrowdSpec parse_crowd_spec(const Json& json, const std::string& source) {
  JsonSection s(json, source);
  CrowdSpec out;
  if (s.has("preset")) {
    if (s.has("groups")) config_error(source, "has a preset and groups, which both define a crowd; choose one");
    out = crowd_preset(s.choice("preset", "", crowd_presets()));
  }
  const bool network = network_kind(s, false);
  if (s.has("networks")) {
    out.networks = json["networks"];
    (void)parse_network_settings(out.networks, s.at("networks"), "small", 0);
  }
  const auto groups = s.list("groups"), detectors = s.list("detectors");
  for (std::size_t n = 0; n < groups.size(); ++n)
    out.groups.push_back(parse_group(*groups[n], s.element("groups", n), network));
  for (std::size_t n = 0; n < out.groups.size(); ++n) {
    if (groups.empty()) out.groups[n].network = network;  // a preset's
    if (out.groups[n].network) check_network_skill(out.groups[n], out, s.element("groups", n) + ".skill");
  }
  for (std::size_t n = 0; n < detectors.size(); ++n) {
    out.detectors.push_back(parse_detector(*detectors[n], s.element("detectors", n)));
  }
  if (s.has("confusion")) out.confusion = parse_confusion(json["confusion"], s.at("confusion"));
  out.cover_all = s.boolean("cover_all", false);
  out.empty_share = s.number("empty_share", out.empty_share, 0, 0.99);
  s.finish();
  check_members(out, source);
  return out;
}

ConfusionRule resolve_confusion(const ConfusionSpec& spec, const std::vector<std::string>& classes) {
  ConfusionRule out;
  out.kind = spec.kind;
  out.related_share = spec.related_share;
  const std::string where = spec.where + ".related: class '";
  std::set<std::string> used;
  for (const auto& set : spec.related) {
    std::vector<std::int32_t> labels;
    for (const auto& name : set) {
      const auto found = std::find(classes.begin(), classes.end(), name);
      if (found == classes.end()) {
        throw DataError(where + printable(name) + "' is not in the truth" + did_you_mean(name, classes));
      }
      if (!used.insert(name).second) {
        throw DataError(where + printable(name) + "' appears twice; it can be in only one set");
      }
      labels.push_back(static_cast<std::int32_t>(found - classes.begin()));
    }
    out.related.push_back(std::move(labels));
  }
  return out;
}

}  // namespace bdc::host
