#pragma once

#include <set>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/observers/observer.h"
#include "ranks/communicator.h"
#include "show/progress.h"

namespace bdc::host {

/// Tells at the end of each epoch which images had to be left out, each once, and counts them as the metric
/// "data/broken_images".
class BrokenImages : public Observer {
 public:
  /// Everything is borrowed.
  BrokenImages(std::vector<const Dataset*> data, Progress& progress, Communicator& ranks = Communicator::alone());

  void after_epoch(LoopState& state) override;

  [[nodiscard]] std::string name() const override { return "broken_images"; }
  [[nodiscard]] Json save() const override;
  void restore(const Json& state) override;

 private:
  /// Of all ranks, in the order of the images in each.
  [[nodiscard]] std::vector<std::string> broken() const;
  [[nodiscard]] std::set<std::string> found() const;  ///< told or not

  std::vector<const Dataset*> data_;
  Progress& progress_;
  Communicator& ranks_;
  std::set<std::string> told_;
  std::set<std::string> before_;  ///< found before the run was interrupted, perhaps not told
};

}  // namespace bdc::host
