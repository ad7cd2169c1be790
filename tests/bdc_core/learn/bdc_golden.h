#pragma once

#include <string>
#include <vector>

#include "bdc/crowd/crowd_data.h"
#include "bdc/learn/bdc/bdc_model.h"
#include "support/golden_file.h"

/// The crowd and the predictions of bdc_reference.json.
struct BdcGolden {
  nlohmann::json file = golden_crowd("bdc_reference.json");
  std::size_t K = file["K"], J = file["J"];
  bdc::CrowdData crowd;

  BdcGolden() {
    for (std::size_t j = 0; j < J; ++j) {
      bdc::ClassRecord record;
      record.id.text = record.name = std::to_string(j);
      crowd.classes.push_back(record);
    }
    for (std::size_t k = 0; k < K; ++k) {
      bdc::AnnotatorRecord record;
      record.id.text = std::to_string(k);
      crowd.annotators.push_back(record);
    }
    for (const auto& image : file["images"]) {
      const auto index = static_cast<std::int32_t>(crowd.images.size());
      bdc::ImageRecord record;
      record.id.text = std::to_string(index);
      record.width = image["width"].get<int>();
      record.height = image["height"].get<int>();
      crowd.images.push_back(record);
      for (const auto& a : image["annotations"]) {
        crowd.annotations.push_back({{a[0], a[1], a[2], a[3]}, index, a[4], a[5]});
      }
    }
    crowd.finalize();
  }

  struct Predictions {
    std::vector<bdc::Box> box;
    std::vector<double> scores;
    [[nodiscard]] bdc::ImagePredictions view() const { return {box, scores.data()}; }
  };

  static Predictions read_predictions(const nlohmann::json& rows, double scale_x = 1, double scale_y = 1) {
    Predictions p;
    for (const auto& row : rows) {
      p.box.push_back({row[0].get<double>() * scale_x, row[1].get<double>() * scale_y, row[2].get<double>() * scale_x,
                       row[3].get<double>() * scale_y});
      for (std::size_t j = 4; j < row.size(); ++j) p.scores.push_back(row[j]);
    }
    return p;
  }

  [[nodiscard]] std::vector<Predictions> predictions(std::size_t step) const {
    std::vector<Predictions> all;
    for (const auto& image : file["images"]) all.push_back(read_predictions(image["predictions"][step]));
    return all;
  }
};
