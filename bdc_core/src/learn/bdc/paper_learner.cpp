// paper: the published equations. Targets of every weight are kept; in training those above min_weight, with a weight
// that is the share of the image's own annotators.
#include <algorithm>

#include "learn/bdc/classic_learner.h"
#include "learn/bdc/profiles.h"

namespace bdc {

LearnerEntry paper_learner() {
  LearnerEntry entry;
  LearnerInfo& info = entry.info;
  info.name = "paper";
  info.profile_of = "bdc";
  info.description = "the published equations";
  info.options = classic_options();
  info.training_options = {min_weight_option()};
  info.traits = bdc_traits();
  const std::string centre = "of the image's size", ratio = "prediction / box, 1 = none";
  info.traits.box_error.mean_heading = {"bias x", "bias y", "width ratio (1 = none)", "height ratio (1 = none)"};
  info.traits.box_error.unit = {centre, centre, ratio, ratio};
  entry.create = [](const Options& options) {
    ClassicProfile profile;
    profile.name = "paper";
    profile.parameters = profile.training_parameters = paper_parameters();
    profile.training_parameters.weigh_by_looks = true;
    double& min_weight = profile.training_parameters.min_weight;
    min_weight = std::max(min_weight, options.get_number("min_weight"));
    profile.make_model = [](const CrowdData& crowd, const BdcParameters& parameters, const AnnotatorPosteriors* prior,
                            Span<const std::int32_t> max_objects) -> std::unique_ptr<BdcModel> {
      return make_paper_model(crowd, parameters, prior, max_objects);
    };
    return make_classic_learner(std::move(profile), options);
  };
  return entry;
}

}  // namespace bdc
