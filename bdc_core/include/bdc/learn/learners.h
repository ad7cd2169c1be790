#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bdc/learn/learner_info.h"

namespace bdc {

/// All learners, in the order they are listed to the user. The table stands in src/learn/learners.cpp.
[[nodiscard]] const std::vector<LearnerEntry>& learners();

/// The learner of that name, or null. What an annotators' file calls its profile is a learner's name.
[[nodiscard]] const LearnerEntry* find_learner(const std::string& name);
/// Its traits; those of a learner that knows nothing for an unknown name.
[[nodiscard]] const LearnerTraits& learner_traits(const std::string& name);

/// What users choose from by `--method`: a learner, or a method whose option `profile` chooses one of several.
struct MethodInfo {
  std::string name, description;
  std::vector<OptionSpec> options;  ///< of several learners: `profile`, then theirs; text "" for the learner's default
  std::string compared_by;          ///< see LearnerInfo
  std::vector<const LearnerEntry*> learners;  ///< one, or the profiles; the first is the default
};
[[nodiscard]] const std::vector<MethodInfo>& methods();

/// By the name of a method or of a learner; options as text. Throws std::invalid_argument for an unknown name (the
/// nearest is named) or a bad option, whose place is `where` ("--option"; "": the name).
[[nodiscard]] std::unique_ptr<Learner> make_learner(const std::string& name,
                                                    const std::map<std::string, std::string>& options = {},
                                                    const std::string& where = "");
/// The learner that make_learner would make. Throws as it does.
[[nodiscard]] const LearnerEntry& chosen_learner(const std::string& name,
                                                 const std::map<std::string, std::string>& options = {},
                                                 const std::string& where = "");

/// By the name of a learner; values checked against its options and training options, defaults for the others. Throws
/// std::invalid_argument as check_options does.
[[nodiscard]] std::unique_ptr<Learner> make_learner_with(const std::string& name,
                                                         const std::map<std::string, OptionValue>& values);

}  // namespace bdc
