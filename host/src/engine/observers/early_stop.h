#pragma once

#include "engine/observers/best_weights.h"
#include "engine/observers/observer.h"

namespace bdc::host {

/// Ends training when AP was measured in `patience` epochs since the best one and was no better in any. Epochs in which
/// it was not measured do not count.
class EarlyStop : public Observer {
 public:
  /// patience 0: never. `best` is borrowed and must stand before this observer in the list.
  EarlyStop(const BestWeights& best, std::int64_t patience, std::int64_t evaluate_every)
      : best_(best), patience_(patience), measures_all_(evaluate_every == 1) {}

  void after_epoch(LoopState& state) override;
  [[nodiscard]] std::string end_reason() const override;

  [[nodiscard]] std::string name() const override { return "early_stop"; }
  [[nodiscard]] Json save() const override { return {{"waited", waited_}}; }
  void restore(const Json& state) override { waited_ = state.at("waited").get<std::int64_t>(); }

 private:
  const BestWeights& best_;
  std::int64_t patience_;
  bool measures_all_;
  std::int64_t waited_ = 0;  ///< measured epochs since the best one
};

}  // namespace bdc::host
