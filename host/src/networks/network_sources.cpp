#include "networks/network_sources.h"

#include <torch/nn.h>
#include <torch/utils.h>

#include <algorithm>

#include "bdc/base/table.h"
#include "engine/device.h"
#include "engine/tensor_process.h"
#include "networks/crop_classifier.h"
#include "networks/region_proposals.h"
#include "networks/skill_store.h"
#include "parts/proposal_network.h"

namespace bdc::host {
namespace {

/// What the user said of a skill, for all skills or for this one.
Json said_of(const Json& networks, const std::string& skill) {
  Json out = Json::object();
  for (const char* key : {"classifier", "rpn", "seed", "held_out", "backgrounds"}) {
    if (networks.contains(key)) out[key] = networks[key];
  }
  if (networks.contains("skills") && networks["skills"].contains(skill)) out.merge_patch(networks["skills"][skill]);
  return out;
}

std::string classifier_name(const std::string& skill, const SkillNetworks& s) {
  return skill + ", " + s.classifier.kind;
}

std::string rpn_name(const std::string& skill, const SkillNetworks& s) {
  return skill + ", proposals of " + s.rpn.backbone;
}

TrainedSkill train_skill(const std::string& skill, const SkillNetworks& settings, const Dataset& data,
                         const torch::Device& device, const NetworkRun& run) {
  TrainedSkill out;
  out.settings = settings;
  out.classes = class_names(data.labels());
  const CropSets crops = make_crops(data.labels(), {settings.held_out, settings.backgrounds, settings.seed});
  const std::string name = classifier_name(skill, settings);
  out.classifier =
      train_classifier(data, crops.train, settings.classifier, settings.seed, device, run.threads, name, run.progress);
  out.counts = count_confusions(out.classifier, data, crops.held_out, settings.classifier, device, run.threads);
  out.rpn = train_proposal_network(data, settings.rpn, settings.seed, device, run.threads, rpn_name(skill, settings),
                                   run.progress);
  return out;
}

double share_right(const std::vector<double>& counts, std::size_t size) {
  double right = 0, all = 0;
  for (std::size_t n = 0; n < counts.size(); ++n) {
    all += counts[n];
    if (n / size == n % size) right += counts[n];
  }
  return right / all;
}

}  // namespace

double average_recall(const CrowdData& truth, const ImageProposals& proposals) {
  double objects = 0, recalled = 0;
  for (const TruthBox& t : truth.truth) {
    if (t.is_crowd) continue;
    objects += 1;
    const auto image = static_cast<std::size_t>(t.image);
    double best = 0;
    for (std::size_t n = 0; n < proposals.count(image); ++n)
      best = std::max(best, iou(proposals.at(image, n).box, t.box));
    for (int step = 0; step < 10; ++step) recalled += best >= 0.5 + 0.05 * step ? 0.1 : 0;
  }
  return objects > 0 ? recalled / objects : 0;
}

SkillSources network_sources(const CrowdSpec& spec, const Dataset& data, const NetworkRun& run) {
  const NetworkSettings settings = parse_network_settings(spec.networks, "networks", run.size, run.seed);
  const torch::Device device = device_of(settings.device);
  prepare_tensor_process(run.threads);
  SkillSources out;
  out.dirichlet_scale = settings.dirichlet_scale;
  const std::vector<std::string> skills = spec.network_skills();
  const auto is_new = [&](const std::string& skill) { return !has_skill(run.folder, skill); };
  if (!run.folder.empty() && std::count_if(skills.begin(), skills.end(), is_new) > 0)
    prepare_networks_folder(run.folder);
  for (const std::string& skill : skills) {
    std::optional<TrainedSkill> trained;
    if (!run.folder.empty()) {
      trained = load_skill(run.folder, skill, class_names(data.labels()), said_of(spec.networks, skill));
    }
    const bool kept = trained.has_value();
    if (!kept) {
      trained = train_skill(skill, settings.skills.at(skill), data, device, run);
      if (!run.folder.empty()) save_skill(run.folder, skill, *trained);
    }
    trained->rpn->to(device);
    const ProposeSettings limits{trained->settings.rpn.input, settings.proposals, settings.nms, run.threads};
    const std::string name = rpn_name(skill, trained->settings);
    const auto proposals = propose_everywhere(*trained->rpn, data, limits, device, name, run.progress);
    run.progress.say(skill + (kept ? ", networks of " + run.folder : "") + ": " + trained->settings.classifier.kind +
                     " names " + fixed(100 * share_right(trained->counts, trained->classes.size() + 1), 1) +
                     " % of the held-out crops, proposals of " + trained->settings.rpn.backbone +
                     " have an average recall of " + fixed(100 * average_recall(data.labels(), *proposals), 1) + " %");
    out.skills[skill] = {trained->counts, proposals};
  }
  return out;
}

}  // namespace bdc::host
