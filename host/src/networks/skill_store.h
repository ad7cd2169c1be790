#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "networks/classifier.h"
#include "synth/network_settings.h"

namespace parts {
class ProposalNetwork;
}

namespace bdc::host {

/// The trained networks of one skill and what was measured of the classifier.
struct TrainedSkill {
  SkillNetworks settings;
  std::vector<std::string> classes;  ///< names, without background
  std::vector<double> counts;        ///< SkillSource::counts
  Classifier classifier;
  std::shared_ptr<parts::ProposalNetwork> rpn;
};

/// Whether the folder holds networks of that skill, sound or not. Throws UserError (exit 3) when the skill's name
/// cannot be that of a folder.
[[nodiscard]] bool has_skill(const std::filesystem::path& folder, const std::string& skill);

/// Makes the folder where there is none. Throws UserError (exit 1) when it cannot be made, or nothing can be written
/// into it: before training rather than after it.
void prepare_networks_folder(const std::filesystem::path& folder);

/// Writes folder/<skill>/: networks.json (with a digest of the weights), classifier.safetensors, rpn.safetensors. The
/// folder of a skill appears complete or not at all. Throws UserError (exit 3) when the skill's name cannot be that of
/// a folder, DataError when it is there already.
void save_skill(const std::filesystem::path& folder, const std::string& skill, const TrainedSkill& trained);

/// Reads what save_skill wrote; none when there is no folder of that skill. `wanted` is what the user said of the skill
/// (parse_skill_networks); what it says must be true of the file. Throws UserError (exit 4) when a file is missing,
/// damaged or hostile, when classes or settings are others, or weights do not fit them, are not finite or have another
/// digest. Files of earlier versions have no digest.
[[nodiscard]] std::optional<TrainedSkill> load_skill(const std::filesystem::path& folder, const std::string& skill,
                                                     const std::vector<std::string>& classes, const Json& wanted);

}  // namespace bdc::host
