#include "library/engine_library.h"

#include <torch/nn.h>

#include "bdc/base/atomic_file.h"
#include "bdc/base/parallel.h"
#include "c10d/join.h"
#include "data/cached_data.h"
#include "data/image_folder_data.h"
#include "data/open_data.h"
#include "data/shapes.h"
#include "doctor/checks.h"
#include "engine/checkpoint_store.h"
#include "engine/open_trained.h"
#include "engine/read_weights.h"
#include "engine/run.h"
#include "engine/safetensors.h"
#include "library/dataset_pictures.h"
#include "networks/network_sources.h"
#include "pictures/picture.h"

namespace bdc::host {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kImagesInMemory = std::int64_t{2} << 30;

class EngineLibrary : public Engine {
 public:
  RunReport train(const TrainRequest& request, const Catalog& catalog, Progress& progress,
                  const std::atomic<bool>& stop) override {
    return run_training(request, catalog, progress, stop);
  }

  RunPlan plan(const RunConfig& config, const Catalog& catalog, Progress& progress) override {
    return plan_training(config, catalog, progress);
  }

  std::optional<std::string> config_of_checkpoint(const fs::path& folder, bool may_begin_again) override {
    if (may_begin_again && was_never_saved(folder)) return {};
    return CheckpointStore(folder).load([](const std::string&) {}).config;
  }

  std::unique_ptr<TrainedRun> open_trained(const fs::path& run) override { return bdc::host::open_trained(run); }

  ConvertedWeights convert_weights(const std::string& from, const std::string& to, bool as_float32) override {
    Weights weights = read_weights(from);
    if (as_float32) widen_to_float32(weights);
    ConvertedWeights out{weights.tensors.size(), 0, weights.origin};
    for (const auto& [name, tensor] : weights.tensors) out.elements += tensor.numel();
    write_safetensors(to, {weights.tensors, {{"format", "pt"}, {"written_by", "bdc"}}});
    return out;
  }

  std::shared_ptr<const Pictures> open_pictures(const CrowdData& crowd, const std::string& folder,
                                                std::vector<std::string>& warnings) override {
    ImageFolderSettings settings;
    settings.folder = folder;
    settings.named_by = "--images";
    const auto data = std::make_shared<ImageFolderData>(crowd, settings);
    warnings.insert(warnings.end(), data->warnings().begin(), data->warnings().end());
    return pictures_of(crowd, data);
  }

  std::shared_ptr<const Pictures> open_training_data(const RunConfig& config, CrowdData& labels) override {
    const OpenedData opened = open_data(config);
    labels = opened.train->labels();
    return pictures_of(labels, opened.train);
  }

  CrowdData shapes_labels(const ShapesSettings& settings) override { return ShapesData(settings).labels(); }

  void write_shapes(const ShapesSettings& settings, const std::string& folder, int threads) override {
    const ShapesData shapes(settings);
    const auto& images = shapes.labels().images;
    const auto path = [&](std::size_t i) { return fs::path(folder) / images[i].file; };
    for (std::size_t i = 0; i < images.size(); ++i) fs::create_directories(path(i).parent_path());
    parallel_chunks(images.size(), 16, threads, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) write_picture(path(i), shapes.image(static_cast<std::int64_t>(i)));
    });
  }

  SkillSources train_networks(const CrowdSpec& spec, CrowdData& truth, const NetworkCrowdRequest& request,
                              Progress& progress) override {
    const auto data = images_of(truth, request);
    truth = data->labels();  // sizes that the truth did not say are in the files
    NetworkRun run;
    run.size = request.size;
    run.folder = request.folder;
    run.seed = request.seed;
    run.threads = request.threads;
    run.progress = {[&](const std::string& text) { progress.line(text); },
                    [&](const std::string& text) { progress.live(text); }};
    return network_sources(spec, *data, run);
  }

  std::unique_ptr<Communicator> join_ranks(const Launch& launch, double timeout,
                                           std::function<void(const std::string&)> say) override {
    return bdc::host::join_ranks(launch, timeout, std::move(say));
  }

  void examine_plugin(const fs::path& file, const std::string& options, int fd) override {
    examine_in_child(file, options, fd);
  }

  void remove_unfinished_outputs() override { bdc::remove_unfinished_outputs(); }

 private:
  static std::shared_ptr<const Dataset> images_of(const CrowdData& truth, const NetworkCrowdRequest& request) {
    if (request.shapes) return std::make_shared<ShapesData>(*request.shapes);
    const ImageFolderSettings settings{request.images, true, {}, "--images", "every image of the truth must be there"};
    return std::make_shared<CachedData>(std::make_shared<ImageFolderData>(truth, settings), kImagesInMemory);
  }
};

}  // namespace

Engine& engine_library() {
  static EngineLibrary engine;
  return engine;
}

}  // namespace bdc::host
