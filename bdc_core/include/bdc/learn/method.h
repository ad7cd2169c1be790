#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/predictions.h"
#include "bdc/crowd/targets.h"
#include "bdc/learn/annotator_posteriors.h"

namespace bdc {

/// How far a method is. Methods that iterate report once a round, others once in a while.
struct Progress {
  int round = 0, max_rounds = 0;  ///< 0 of 0 for a method without rounds
  double bound = 0;               ///< the lower bound after this round
  double change = 0;              ///< the relative change that decides convergence
  std::size_t images_done = 0, images = 0;
};

struct AggregationInput {
  const CrowdData* crowd = nullptr;               ///< finalized; its truth is never looked at
  const Predictions* predictions = nullptr;       ///< a detector's output on the same images, or none
  const AnnotatorPosteriors* prior = nullptr;     ///< from an earlier project, or none
  int threads = 0;                                ///< 0: all cores. The result has the same bits for any number.
  std::uint64_t seed = 0;                         ///< for methods that draw random numbers
  std::function<void(const Progress&)> progress;  ///< may be empty; may throw to stop the work
};

struct AggregationResult {
  Targets targets;
  std::optional<AnnotatorPosteriors> posteriors;  ///< methods that learn annotators
  std::vector<double> bound;                      ///< lower bound after each round; empty for methods without one
  int rounds = 0;
  bool converged = true;
  std::vector<std::string> warnings;  ///< sentences for the user, with counts
};

/// Labels of many annotators in, one consensus out. Implementations are immutable: one object may serve many threads.
class AggregationMethod {
 public:
  virtual ~AggregationMethod() = default;

  /// Throws DataError when the input does not fit the method (for example predictions with other classes).
  [[nodiscard]] virtual AggregationResult aggregate(const AggregationInput& input) const = 0;
};

/// One setting of a method. Values travel as text, as they stand on a command line.
struct MethodOption {
  std::string name, default_value, description;
  std::vector<std::string> choices;  ///< empty: a number, or free text
  bool is_text = false;
};

/// The options of a method with their values: the defaults, and what the user set.
class MethodOptions {
 public:
  explicit MethodOptions(std::vector<MethodOption> known);
  /// Throws std::invalid_argument, naming the nearest option or the choices, for an unknown name or a value that is not
  /// one of the choices or not a number.
  void set(const std::string& name, const std::string& value);
  [[nodiscard]] const std::string& text(const std::string& name) const;
  [[nodiscard]] double number(const std::string& name) const;
  /// Throws std::invalid_argument unless low <= value <= high.
  [[nodiscard]] double number(const std::string& name, double low, double high) const;
  [[nodiscard]] int integer(const std::string& name, int low, int high) const;
  [[nodiscard]] const std::vector<MethodOption>& known() const { return known_; }

 private:
  std::vector<MethodOption> known_;
  std::map<std::string, std::string> values_;
};

/// A line of the table of methods.
struct MethodEntry {
  std::string name, description;
  std::vector<MethodOption> options;
  std::function<std::unique_ptr<AggregationMethod>(const MethodOptions&)> create;
};

/// All methods, in the order they are listed to the user. The table stands in src/methods/method_table.cpp.
[[nodiscard]] const std::vector<MethodEntry>& aggregation_methods();

/// The profiles of the method `bdc`; same shape, chosen by its option `profile`.
[[nodiscard]] const std::vector<MethodEntry>& bdc_profiles();

/// Throws std::invalid_argument for an unknown name (the nearest is named) or a bad option.
[[nodiscard]] std::unique_ptr<AggregationMethod> make_method(const std::string& name,
                                                             const std::map<std::string, std::string>& options = {});

}  // namespace bdc
