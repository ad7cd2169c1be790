#pragma once

#include <memory>

#include "data/dataset.h"
#include "networks/fit.h"
#include "synth/network_hand.h"

namespace parts {
class ProposalNetwork;
}

namespace bdc::host {

[[nodiscard]] std::shared_ptr<parts::ProposalNetwork> make_proposal_network(const ProposalSettings& settings);

/// A region proposal network trained on the true boxes of all images, which are mirrored half of the time.
[[nodiscard]] std::shared_ptr<parts::ProposalNetwork> train_proposal_network(
    const Dataset& data, const ProposalSettings& settings, std::uint64_t seed, const torch::Device& device, int threads,
    const std::string& name, const NetworkProgress& progress);

struct ProposeSettings {
  std::int64_t input = 800, most = 100;
  double nms = 0.7;
  int threads = 0;  ///< of the images; the result has the same bits for any number
};

/// What the network sees in every image: the `most` best proposals after suppression, in pixels of the image, to
/// hundredths, at least a pixel each way. The network is left as it is used: in evaluation mode.
[[nodiscard]] std::shared_ptr<const ImageProposals> propose_everywhere(
    parts::ProposalNetwork& network, const Dataset& data, const ProposeSettings& settings, const torch::Device& device,
    const std::string& name, const NetworkProgress& progress);

}  // namespace bdc::host
