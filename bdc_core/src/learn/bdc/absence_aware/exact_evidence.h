#pragma once

#include <array>
#include <vector>

#include "bdc/base/exact_sum.h"
#include "bdc/learn/bdc/absence_aware.h"
#include "bdc/learn/learner.h"
#include "learn/bdc/absence_aware/evidence_numbers.h"
#include "learn/learner_state.h"

namespace bdc::absence_aware {

/// Of beliefs and evidence. 2 had one object rate for all images; 3 shares by true class; 4 no share of blank images; 5
/// one prior of object rates for all worklists.
inline constexpr StateForm kStateForm = 7;

/// The evidence of an epoch, as sums that do not depend on the order of images. Each image's own evidence is taken as
/// consensus_of_image gives it.
class ExactEvidence final : public Evidence {
 public:
  /// Empty, of the shape that the beliefs need.
  explicit ExactEvidence(const AbsenceAwareBeliefs& beliefs);

  /// Targets of an image under the beliefs; its evidence is added.
  Targets observe(const AbsenceAwareBeliefs& beliefs, const ImageLabels& labels, double min_existence);
  /// The sums as numbers.
  [[nodiscard]] AbsenceAwareEvidence total() const;
  void clear();

  [[nodiscard]] std::size_t images() const override { return images_; }
  void merge(const Evidence& other) override;
  [[nodiscard]] std::string save() const override;
  void load(const std::string& bytes) override { *this = read(bytes); }
  void merge_saved(const std::string& bytes) override { merge(read(bytes)); }
  template <class Archive, class Self>
  static void archive(Archive& state, Self& self) {
    state(self.images_), state(self.source_), state(self.confusion_), state(self.class_count_), state(self.scalar_);
  }

 private:
  /// Evidence of this one's shape.
  [[nodiscard]] ExactEvidence read(const std::string& bytes) const;
  using Scalars = std::array<double, kEvidenceScalars>;

  [[nodiscard]] static Scalars scalars_of(const AbsenceAwareEvidence& evidence);
  static void set_scalars(const Scalars& from, AbsenceAwareEvidence& evidence);
  void take_source(std::size_t k);
  void take_column(std::size_t column);

  std::uint64_t images_ = 0;
  std::vector<std::array<ExactSum, kSourceNumbers>> source_;
  std::vector<ExactSum> confusion_, class_count_;
  std::array<ExactSum, kEvidenceScalars> scalar_{};
  AbsenceAwareEvidence image_;  ///< of one image; all 0 in between
};

}  // namespace bdc::absence_aware
