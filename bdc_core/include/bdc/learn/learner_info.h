#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bdc/base/options.h"
#include "bdc/learn/learner.h"

namespace bdc {

/// The four numbers in which a learner measures a box error.
struct BoxErrorTraits {
  std::array<std::string, 4> name{"x", "y", "width", "height"};  ///< of what
  std::array<std::string, 4> mean_heading;                       ///< how a table heads their means
  std::array<std::string, 4> unit;                               ///< what they are measured in
  /// The four are the edges, in box sizes. Otherwise: the centre, then width and height, which are relative.
  bool of_edges = false;
};

/// What the training targets are while the detector warms up.
enum class WarmUp {
  annotations,   ///< without_detector(); observe is called all the same, so that evidence of the detector comes in
  no_detections  ///< what observe makes of no detections
};

/// What a learner knows and needs, for whoever shows its results or trains beside it. Nobody asks for its name.
struct LearnerTraits {
  bool learns_annotators = false;  ///< it has posteriors, and evidence that is not empty
  bool knows_classes = false;      ///< posteriors: who confuses which classes
  bool knows_boxes = false;        ///< posteriors: box errors, see box_error
  bool knows_recall = false;       ///< posteriors: objects missed, boxes invented
  bool knows_existence = false;    ///< targets: how probable it is that the object is real
  BoxErrorTraits box_error;

  // Beside a detector.
  bool uses_detections = false;                 ///< observe looks at them: the hook needs predictions
  std::vector<std::string> needs_capabilities;  ///< what the detector must have, as in DetectorInfo
  int warmup = 0;                               ///< epochs of warming up, by default
  WarmUp warmup_targets = WarmUp::annotations;
  bool once_per_epoch = false;  ///< observe may also run over all images before an epoch instead of in each step
  /// Which targets it drops whatever its options say, for advice where hardly any are left: "targets that ...".
  std::string drops_targets;
};

struct LearnerInfo {
  std::string name;                          ///< unique
  std::string description;                   ///< a line for the list
  std::vector<OptionSpec> options;           ///< of fit: what `aggregate --option` takes
  std::vector<OptionSpec> training_options;  ///< of begin and observe: what its training hook takes; may repeat options
  LearnerTraits traits;
  /// The method under which users know it, whose option `profile` chooses it; empty: its own name.
  std::string profile_of;
  /// The option whose choices are worth a comparison (`aggregate --method all` runs each); empty: none.
  std::string compared_by;
};

/// A line of the table of learners. create gets every option and training option, checked.
struct LearnerEntry {
  LearnerInfo info;
  std::function<std::unique_ptr<Learner>(const Options&)> create;
};

}  // namespace bdc
