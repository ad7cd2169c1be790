#pragma once

#include <vector>

#include "data/dataset.h"
#include "networks/classifier.h"
#include "networks/fit.h"
#include "synth/crops.h"

namespace bdc::host {

/// Crops as pixels: B x 3 x edge x edge float32, 0..1, each stretched to the square. Images are read in parallel.
[[nodiscard]] torch::Tensor load_crops(const Dataset& data, const std::vector<Crop>& crops,
                                       const std::vector<std::int64_t>& which, std::int64_t edge, int threads);

/// A classifier of J + 1 classes, background last, trained on crops. `name` stands in progress.
[[nodiscard]] Classifier train_classifier(const Dataset& data, const std::vector<Crop>& crops,
                                          const ClassifierSettings& settings, std::uint64_t seed,
                                          const torch::Device& device, int threads, const std::string& name,
                                          const NetworkProgress& progress);

/// counts[t * (J + 1) + c]: crops of class t that the classifier takes for c.
[[nodiscard]] std::vector<double> count_confusions(const Classifier& classifier, const Dataset& data,
                                                   const std::vector<Crop>& crops, const ClassifierSettings& settings,
                                                   const torch::Device& device, int threads);

}  // namespace bdc::host
