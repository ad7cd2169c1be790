#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "console/progress.h"
#include "registry/catalog.h"
#include "shapes/crowd_shapes.h"
#include "train/fit_result.h"

namespace bdc::host {

/// A resolved config made complete with what only the plugin knows: its recommendations in place of nulls, and the
/// options of the plugin and of every hook checked and filled with defaults (registry.json's first, then the plugin's
/// own). Throws UserError: exit 3 for options, naming the layer (of resolve_config) or the place in registry.json that
/// has them; exit 5 and 6 for plugins that cannot be had.
[[nodiscard]] Json complete_config(Json config, const Catalog& catalog, const std::vector<ConfigLayer>& layers = {});

struct RunReport {
  std::filesystem::path folder;
  FitResult fit;
  std::vector<std::string> class_names;
  std::vector<SimulatedAnnotator> simulated;  ///< true quality of the annotators, where it is known
  std::size_t unjudged_images = 0;            ///< held out, but without true boxes, so that AP was not measured
  double seconds = 0;
};

/// Trains as a complete config says, in a new run folder, or goes on with the run in `resume` from its
/// checkpoint, or from the beginning where there is none yet. Holds the folder's lock meanwhile: throws UserError (exit
/// 2) when another process is at work on that run.
[[nodiscard]] RunReport run_training(const Json& config, const Catalog& catalog,
                                     const std::optional<std::filesystem::path>& resume, Progress& progress,
                                     const std::atomic<bool>& stop);

/// What a run would do, without doing it.
struct RunPlan {
  struct Group {  ///< parameters with the same optimiser settings
    std::string name;
    std::size_t tensors = 0;
    std::int64_t weights = 0;
    double learning_rate = 0;  ///< before warm-up and schedule
    double weight_decay = 0;
  };
  std::string plugin, data;
  std::vector<std::string> warnings, hooks, class_names;
  std::size_t train_images = 0, test_images = 0;
  std::int64_t weights = 0;  ///< all of the detector's
  std::vector<Group> groups;
};

/// Builds everything that run_training would: opens the data, loads the weights, makes the detector and the hooks.
/// Trains nothing and writes nothing.
[[nodiscard]] RunPlan plan_training(const Json& config, const Catalog& catalog, Progress& progress);

/// How --resume goes on with a run.
struct ResumedConfig {
  Json config;                     ///< as the run began; complete
  std::vector<std::string> notes;  ///< what the user should know
};

/// The config inside the checkpoint of a run folder, or, when the run was stopped before its first checkpoint, its
/// config.json: it then begins again. Throws UserError when there is neither, or when neither can be used.
[[nodiscard]] ResumedConfig config_of_run(const std::filesystem::path& folder, const Catalog& catalog);

}  // namespace bdc::host
