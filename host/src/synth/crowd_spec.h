#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/json_file.h"
#include "synth/parametric_hand.h"

namespace bdc::host {

/// Which images a group is shown.
enum class Shown { any, empty, occupied };

/// Annotators of one skill.
struct GroupSpec {
  std::string skill;  ///< names them: "expert-1", "expert-2"
  std::int64_t annotators = 0;
  double coverage = 1;  ///< share of the images each of them sees
  SkillNumbers numbers{};
  bool network = false;      ///< they annotate with trained networks (network_hand.h) and not by numbers
  Shown shown = Shown::any;  ///< the images that `coverage` is a share of
  bool together = false;     ///< all of them see the same images
};

/// A detector whose results are annotations.
struct DetectorSpec {
  std::string name, file;  ///< a COCO results file
  double min_score = 0.5;
  double coverage = 1;
};

/// A confusion rule with classes by name, as a user writes it.
struct ConfusionSpec {
  ConfusionRule::Kind kind = ConfusionRule::Kind::neighbours;
  std::vector<std::vector<std::string>> related;
  double related_share = 0.8;
  std::string where = "confusion";  ///< names it in messages
};

/// A crowd to simulate.
struct CrowdSpec {
  std::vector<GroupSpec> groups;
  std::vector<DetectorSpec> detectors;
  ConfusionSpec confusion;
  double empty_share = 0;          ///< of the crowd's images: so many without objects are added to the truth
  bool cover_all = false;          ///< an image that nobody would see is given to one annotator
  Json networks = Json::object();  ///< settings of the networks (network_settings.h), checked

  /// Skills whose networks are needed: of groups that annotate with networks and do not guess. Each once, in order.
  [[nodiscard]] std::vector<std::string> network_skills() const;
};

/// The first name of a detector that another member has, too: of an earlier detector, or of a group as "expert-1".
/// "" when all names differ.
[[nodiscard]] std::string name_given_twice(const CrowdSpec& spec);

/// All groups annotate with networks. Throws UserError (exit 3) for a group with a name of its own that the spec's
/// networks do not describe.
void use_networks(CrowdSpec& spec, const std::string& source);

/// The numbers of "expert", "average", "poor" and "random". Throws std::invalid_argument for another skill.
[[nodiscard]] SkillNumbers skill_numbers(const std::string& skill);

/// voc-full (10 average), voc-mix (5 experts, 20 average), coco-full (10 average), coco-mix (20 experts at 5 %, 550
/// average at 1 %, 330 poor at 0.5 %, 100 random at 1 %), noisy (3 experts, 17 poor, 5 random at 60 %),
/// screening (70 % of the images empty; 3 average together at 45 %, 7 average at 13 %, 7 who are shown empty ones
/// only). Throws UserError (exit 2), naming the nearest, for another name.
[[nodiscard]] CrowdSpec crowd_preset(const std::string& name);
[[nodiscard]] std::vector<std::string> crowd_presets();

/// A spec as JSON (docs/synth.md): {"preset"?, "kind"?, "groups", "detectors", "confusion", "empty_share",
/// "cover_all", "networks"}.
/// `source` names it in messages. Throws UserError (exit 3) for unknown keys, values out of range, members of one name
/// and a crowd without members.
[[nodiscard]] CrowdSpec parse_crowd_spec(const Json& json, const std::string& source);

/// Classes by index. Throws DataError for a name that is not among them, or that stands in two sets.
[[nodiscard]] ConfusionRule resolve_confusion(const ConfusionSpec& spec, const std::vector<std::string>& classes);

}  // namespace bdc::host
