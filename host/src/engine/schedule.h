#pragma once

#include <cstdint>
#include <string>

namespace bdc::host {

/// The course of the learning rate over a run, in optimiser steps.
struct LearningRate {
  double start = 0.01;
  std::string schedule = "cosine";  ///< "cosine" or "linear" down to final_share; "step"; "constant"
  double final_share = 0.01;        ///< of start, at the last step (cosine, linear)
  double step_share = 0.1;          ///< what "step" multiplies by after two thirds and again after eight ninths
  std::int64_t warmup_steps = 20;   ///< in which it grows from zero; they count as steps of the schedule, too

  /// At step `step` (from 0) of `total`.
  [[nodiscard]] double at(std::int64_t step, std::int64_t total) const;
};

}  // namespace bdc::host
