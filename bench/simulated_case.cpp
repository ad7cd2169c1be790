#include "simulated_case.h"

#include <utility>

#include "sim_crowd.h"

namespace bdc {

TableCase simulated_case(const std::string& preset, int images, std::uint64_t seed) {
  SimulatedCrowdOptions options = simulated_preset(preset);
  options.images = images;
  options.seed = seed;
  SimulatedCrowd sim = simulate_crowd(options);
  return {std::move(sim.crowd), std::move(sim.predictions)};
}

}  // namespace bdc
