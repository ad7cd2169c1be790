#pragma once

#include <string>

#include "data/dataset.h"
#include "networks/fit.h"
#include "synth/simulate.h"

namespace bdc::host {

struct NetworkRun {
  std::string size = "published";  ///< defaults of the settings (parse_network_settings)
  std::string folder;              ///< networks are kept here and taken from here; empty: not kept
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0: all cores. Training gives the same bits for the same number.
  NetworkProgress progress;
};

/// For every skill that the spec's network groups need: its classifier and its region proposal network, trained on the
/// truth of `data` or taken from the folder, with the classifier's confusions on held-out crops and the proposals in
/// every image. What was trained is saved at once, so that an interrupted run goes on with the next skill.
/// Throws UserError and DataError as its parts do; DataError when an image is broken.
[[nodiscard]] SkillSources network_sources(const CrowdSpec& spec, const Dataset& data, const NetworkRun& run);

/// Average recall of proposals: the share of the true objects that some proposal overlaps by at least t, mean over
/// t = 0.5, 0.55, ..., 0.95. Crowd regions do not count.
[[nodiscard]] double average_recall(const CrowdData& truth, const ImageProposals& proposals);

}  // namespace bdc::host
