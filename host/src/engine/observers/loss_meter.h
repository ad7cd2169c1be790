#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/observers/observer.h"

namespace bdc::host {

/// The mean losses of the epoch so far, by name ("loss" is the total), over the batches whose loss is finite. When the
/// epoch's steps are done they become the metrics "train/<name>".
class LossMeter : public Observer {
 public:
  void after_batch(LoopState& state, const plugin::LossTerms& terms) override;
  void after_steps(LoopState& state) override;
  void after_epoch(LoopState& state) override;

  [[nodiscard]] std::string name() const override { return "loss_meter"; }
  [[nodiscard]] Json save() const override;
  void restore(const Json& state) override;

  [[nodiscard]] std::map<std::string, double> means() const;
  [[nodiscard]] std::int64_t batches() const { return batches_; }

 private:
  std::map<std::string, double> sums_;
  std::int64_t batches_ = 0;
};

}  // namespace bdc::host
