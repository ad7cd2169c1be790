// reference: what the authors' released program computes.
#include "learn/bdc/classic_learner.h"
#include "learn/bdc/profiles.h"

namespace bdc {

LearnerEntry reference_learner() {
  LearnerEntry entry;
  LearnerInfo& info = entry.info;
  info.name = "reference";
  info.profile_of = "bdc";
  info.description = "what the authors' released program computes";
  info.options = classic_options();
  info.options.push_back(
      number_option("min_weight", 0.3, "targets need a weight (share of the image's annotators) above this", 0, 1));
  info.traits = bdc_traits();
  info.traits.box_error.mean_heading = {"bias x", "bias y", "bias width", "bias height"};
  info.traits.box_error.unit.fill("in widths and heights of the prediction");
  info.traits.drops_targets = "targets that at most 0.3 of the annotators were tied to";
  entry.create = [](const Options& options) {
    ClassicProfile profile;
    profile.name = "reference";
    profile.parameters = profile.training_parameters = reference_parameters();
    profile.parameters.min_weight = options.get_number("min_weight");
    profile.scores_times_confidence = true;
    profile.make_model = make_reference_model;
    return make_classic_learner(std::move(profile), options);
  };
  return entry;
}

}  // namespace bdc
