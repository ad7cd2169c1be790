#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "synth/crowd_spec.h"
#include "synth/hand.h"
#include "synth/network_hand.h"

namespace bdc::host {

/// One annotator of a crowd to simulate: any kind of hand can be a member.
struct CrowdMember {
  SimulatedAnnotator self;
  std::shared_ptr<const Hand> hand;
  std::uint64_t stream = 0;  ///< tells this member's random numbers from others'; no two members may share it
  Shown shown = Shown::any;
  std::uint64_t coverage_stream = 0;  ///< tells which images are seen; members who see the same ones share it
  std::vector<std::string> notes{};   ///< for the user: what of a detector's results was left out
};

/// By skill: the networks of groups that annotate with them.
struct SkillSources {
  std::map<std::string, SkillSource> skills;
  double dirichlet_scale = 1;
};

/// The members that a spec describes, for the classes and images of `labels`. A member's bias, accuracy, own
/// confusion matrix and stream depend on the seed, the skill and the number within the skill alone.
/// Throws std::invalid_argument for numbers out of range and for a network group whose skill is not among `sources`
/// (random ones need none), DataError for class names or results that do not fit.
[[nodiscard]] std::vector<CrowdMember> make_members(const CrowdSpec& spec, const CrowdData& labels, std::uint64_t seed,
                                                    const SkillSources& sources = {});

struct SimulateSettings {
  std::uint64_t seed = 1;
  bool cover_all = false;
  int threads = 0;  ///< 0: all cores. The result has the same bits for any number.
};

/// Appends images without objects until they are `share` of all, sizes like those that are there, and returns how many.
/// They have no pictures.
std::size_t add_empty_images(CrowdData& labels, double share);

/// Which images of those it is shown a member sees: exactly round(coverage * images), at least one, sampled without
/// replacement. Ascending.
[[nodiscard]] std::vector<std::int32_t> covered_images(const CrowdMember& member, std::size_t images,
                                                       std::uint64_t seed);

/// Lets the members annotate the truth of `labels`: fills annotators, annotations and assignments (there must be none
/// before). What a member draws in an image depends on the seed, the member and the image alone. Returns, for every
/// annotation, Drawing::object.
/// Throws std::invalid_argument when there are annotators already, DataError when an image has no size.
std::vector<std::int32_t> simulate_crowd(CrowdData& labels, const std::vector<CrowdMember>& members,
                                         const SimulateSettings& settings);

/// The true parameters as a versioned JSON object ("format": "bdc_true_annotators"), with what was drawn, measured.
[[nodiscard]] Json true_annotators(const CrowdSpec& spec, const std::vector<CrowdMember>& members,
                                   const CrowdData& labels, const std::vector<std::int32_t>& drawn_for,
                                   std::uint64_t seed, const SkillSources& sources = {});

}  // namespace bdc::host
