#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "engine_api/pictures.h"
#include "engine_api/run_config.h"
#include "engine_api/run_report.h"
#include "engine_api/shapes_settings.h"
#include "engine_api/trained_run.h"
#include "launch/launch.h"
#include "plugins/catalog.h"
#include "ranks/communicator.h"
#include "show/progress.h"
#include "synth/simulate.h"

namespace bdc::host {

struct TrainRequest {
  RunConfig config;  ///< complete
  std::string text;  ///< the same as it is written into the run's folder and its checkpoints
  std::optional<std::filesystem::path> resume;
};

/// Simulated annotators that look at pictures through networks.
struct NetworkCrowdRequest {
  std::optional<ShapesSettings> shapes;  ///< the built-in images, or
  std::string images;                    ///< the folder with the images of the truth
  std::string size = "published";        ///< of the networks where the spec does not say
  std::string folder;                    ///< networks are kept here and taken from here; empty: not kept
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0: all cores. Training gives the same bits for the same number.
};

struct ConvertedWeights {
  std::size_t tensors = 0;
  std::int64_t elements = 0;
  std::string origin;  ///< what kind of file they came from
};

/// Everything that needs LibTorch or OpenCV: what the command line may ask of it. The one implementation is a shared
/// library that the program opens when a verb needs it (cli/open_engine.h); label verbs run without. All functions
/// throw UserError and DataError as the rest of the program does.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Trains in a new run folder, or goes on with the run in `resume` from its checkpoint, or from the beginning where
  /// there is none yet. Holds the folder's lock meanwhile: throws UserError (exit 2) when another process is at work on
  /// that run. `stop`: finish the step, save, leave.
  [[nodiscard]] virtual RunReport train(const TrainRequest& request, const Catalog& catalog, Progress& progress,
                                        const std::atomic<bool>& stop) = 0;

  /// Builds everything that train would: opens the data, loads the weights, makes the detector and the hooks. Trains
  /// nothing and writes nothing.
  [[nodiscard]] virtual RunPlan plan(const RunConfig& config, const Catalog& catalog, Progress& progress) = 0;

  /// The config inside the checkpoint of a run folder. may_begin_again: nothing is returned when the run was stopped
  /// before its first checkpoint. Throws UserError (exit 4) when no checkpoint can be read.
  [[nodiscard]] virtual std::optional<std::string> config_of_checkpoint(const std::filesystem::path& folder,
                                                                        bool may_begin_again) = 0;

  /// The weights of a run folder (the best, else the last), or of a weight file of a run.
  [[nodiscard]] virtual std::unique_ptr<TrainedRun> open_trained(const std::filesystem::path& run) = 0;

  /// Any weight file that can be read, as safetensors.
  [[nodiscard]] virtual ConvertedWeights convert_weights(const std::string& from, const std::string& to,
                                                         bool as_float32) = 0;

  /// The pictures of the crowd's images in a folder; what is missing there is told in `warnings`.
  [[nodiscard]] virtual std::shared_ptr<const Pictures> open_pictures(const CrowdData& crowd, const std::string& folder,
                                                                      std::vector<std::string>& warnings) = 0;
  /// The labels that a run trains on, with their pictures.
  [[nodiscard]] virtual std::shared_ptr<const Pictures> open_training_data(const RunConfig& config,
                                                                           CrowdData& labels) = 0;

  /// Images, classes and truth of the built-in images; there are no annotators.
  [[nodiscard]] virtual CrowdData shapes_labels(const ShapesSettings& settings) = 0;
  /// Their pictures, as PNG files below `folder`, named as the labels say.
  virtual void write_shapes(const ShapesSettings& settings, const std::string& folder, int threads) = 0;

  /// For every skill that the spec's network groups need: its networks, trained on the truth or taken from the
  /// request's folder. `truth` gets the sizes of images that it did not say. What was trained is saved at once, so that
  /// an interrupted run goes on with the next skill.
  [[nodiscard]] virtual SkillSources train_networks(const CrowdSpec& spec, CrowdData& truth,
                                                    const NetworkCrowdRequest& request, Progress& progress) = 0;

  /// Brings the ranks of a launch together: join_ranks of c10d/join.h.
  [[nodiscard]] virtual std::unique_ptr<Communicator> join_ranks(const Launch& launch, double timeout,
                                                                 std::function<void(const std::string&)> say) = 0;

  /// Runs the doctor's checks on a plugin in this process, writes JSON lines to the descriptor, and ends the process.
  [[noreturn]] virtual void examine_plugin(const std::filesystem::path& file, const std::string& options, int fd) = 0;

  /// bdc::remove_unfinished_outputs for what the engine was writing.
  virtual void remove_unfinished_outputs() = 0;
};

/// Gives the engine, opening it the first time. Throws UserError (exit 8), with what to install, where there is none.
using OpenEngine = std::function<Engine&()>;

/// The symbol that the engine's library exports: its engine, which lives as long as the process.
constexpr const char* kEngineSymbol = "bdc_engine";
using EngineFunction = Engine* (*)();

}  // namespace bdc::host
