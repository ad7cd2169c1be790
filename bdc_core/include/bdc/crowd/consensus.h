#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/crowd_io.h"
#include "bdc/crowd/targets.h"

namespace bdc {

/// How a consensus goes back to where people label.
struct ConsensusOptions {
  std::string format = "coco";        ///< a name of consensus_formats()
  std::string model_version = "bdc";  ///< label-studio: what made the predictions
  /// label-studio: the names of the control and the object tag, and the member of `data` with the picture.
  std::string from_name = "label", to_name = "image", data_key = "image";
};

struct ConsensusFormatInfo {
  std::string name, description;
};
[[nodiscard]] std::vector<ConsensusFormatInfo> consensus_formats();

/// Writes the consensus on `data` to a new file or folder. Returns what the format cannot hold. Throws DataError for an
/// unknown format, and when the format knows images or classes by names that are not distinct or not there.
WriteReport write_consensus(const Targets& targets, const CrowdData& data, const std::string& path,
                            const ConsensusOptions& options = {});

/// What was left out of a consensus.
struct ConsensusCut {
  std::size_t below_existence = 0, below_score = 0, kept = 0;
};
/// Targets with at least these values; those below both count as below_existence. Throws DataError when min_existence
/// is above 0 and the method has no notion of existence.
[[nodiscard]] Targets strong_targets(const Targets& targets, double min_existence, double min_score, ConsensusCut* cut);

/// The names that a Label Studio export uses (from_name, to_name, data_key of ConsensusOptions); left as they are where
/// the file is no such export or has no box.
void use_names_of_export(const std::string& path, ConsensusOptions& options);

}  // namespace bdc
