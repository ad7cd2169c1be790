#pragma once

#include <bdc/plugin/info.h>

#include <string>
#include <vector>

#include "eva/loss.h"
#include "eva/network.h"

namespace eva {

/// Everything the plugin's options say.
struct Settings {
  NetworkOptions network;
  LossOptions loss;
  parts::ProposalOptions test_proposals;
  double layer_decay = 1;  ///< learning rate of a block / that of the block after it
};

/// The schema. A number 0 or -1, or an empty text, stands for "as the size has it", where the help says so.
[[nodiscard]] std::vector<bdc::plugin::OptionSpec> option_specs();

/// Throws std::invalid_argument, naming the option, when `global_blocks` is not a list of numbers.
[[nodiscard]] Settings settings_of(const bdc::plugin::DetectorConfig& config);

}  // namespace eva
