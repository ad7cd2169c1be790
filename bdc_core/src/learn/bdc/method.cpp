// bdc: Bayesian detector combination. The profile decides the equations; all other options are the profile's.
#include <algorithm>
#include <stdexcept>

#include "bdc/learn/method.h"

namespace bdc {

MethodEntry bdc_method() {
  MethodEntry entry;
  entry.name = "bdc";
  entry.description = "Bayesian detector combination: learns how each annotator errs";
  MethodOption profile{"profile", bdc_profiles().front().name, "the equations", {}, false};
  std::vector<MethodOption> shared;
  for (const MethodEntry& p : bdc_profiles()) {
    profile.choices.push_back(p.name);
    for (const MethodOption& option : p.options) {
      const bool known =
          std::any_of(shared.begin(), shared.end(), [&](const auto& o) { return o.name == option.name; });
      if (known) continue;
      shared.push_back(option);
      shared.back().is_text = true;  // the profile that has the option checks the value
      shared.back().choices.clear();
      shared.back().default_value.clear();  // empty: the profile's own default
    }
  }
  entry.options.push_back(profile);
  entry.options.insert(entry.options.end(), shared.begin(), shared.end());
  entry.create = [](const MethodOptions& options) {
    const auto& profiles = bdc_profiles();
    const auto chosen = std::find_if(profiles.begin(), profiles.end(),
                                     [&](const MethodEntry& p) { return p.name == options.text("profile"); });
    MethodOptions values(chosen->options);
    for (const MethodOption& option : options.known()) {
      if (option.name == "profile" || options.text(option.name).empty()) continue;
      values.set(option.name, options.text(option.name));
    }
    return chosen->create(values);
  };
  return entry;
}

}  // namespace bdc
