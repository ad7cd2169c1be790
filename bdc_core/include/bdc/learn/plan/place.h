#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "bdc/crowd/targets.h"
#include "bdc/learn/plan/label_worth.h"
#include "bdc/learn/plan/looker.h"

namespace bdc {

/// What may stand at one place of an image, and what looks that are planned but not taken will have said of it: the
/// tree of their outcomes, by Bayes' rule. A state of it is either nothing there or an object of some class; one more
/// look ends in "not drawn" or "drawn, called l", and a drawn box makes the edges surer.
class Place {
 public:
  /// Target n.
  Place(const Targets& targets, std::size_t n);
  /// What somebody may draw who looks at an image in which `unseen` objects are expected that nobody drew: an object or
  /// an invention. Its worth is 0 before they have looked.
  Place(double unseen, const Looker& looker, std::size_t classes);

  /// What the place is expected to be worth, after the looks that are planned.
  [[nodiscard]] double worth() const;
  /// What one more look adds to that; spurious: probability that the looker draws a box here if nothing is there.
  [[nodiscard]] double gain(const Looker& looker, double spurious) const;
  /// Plans that look.
  void look(const Looker& looker, double spurious);

 private:
  static constexpr std::size_t kClasses = 3;
  /// Joint probabilities with the outcomes that led here. Of the classes the most probable few are told apart.
  struct Branch {
    double absent = 0;
    std::array<double, kClasses> of_class{};
    double other = 0;      ///< all further classes together
    double top_other = 0;  ///< the most probable of these
    double spread = 0;     ///< box_spread
    [[nodiscard]] double all() const;
    [[nodiscard]] double object() const;
  };
  /// P(called l | class j) among the classes told apart; made once per look.
  struct Calls;
  [[nodiscard]] Calls calls_of(const Looker& looker) const;
  [[nodiscard]] static double worth_of(const Branch& branch);
  /// Calls take(outcome) for every outcome of a look.
  template <class Take>
  void outcomes(const Branch& branch, const Calls& calls, double spurious, const Take& take) const;

  std::size_t classes_ = 1, named_ = 1;  ///< of all; of these told apart
  std::array<std::size_t, kClasses> class_{};
  std::vector<Branch> branches_;
};

}  // namespace bdc
