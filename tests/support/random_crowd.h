#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "bdc/crowd/crowd_data.h"
#include "bdc/crowd/predictions.h"

/// A small crowd with objects that several annotators draw with noise, misses, confusions and inventions.
struct RandomCrowd {
  bdc::CrowdData crowd;
  bdc::Predictions predictions;

  RandomCrowd(unsigned seed, int images, int K, int J) {
    std::mt19937 rng(seed);
    const auto uniform = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(rng);
    };
    const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng); };
    for (int j = 0; j < J; ++j) {
      bdc::ClassRecord record;
      record.id.text = std::to_string(j);
      record.name = "class" + record.id.text;
      crowd.classes.push_back(record);
    }
    for (int k = 0; k < K; ++k) {
      bdc::AnnotatorRecord record;
      record.id.text = "annotator" + std::to_string(k);
      crowd.annotators.push_back(record);
    }
    predictions.num_classes = J;
    predictions.begin.assign(1, 0);
    for (int i = 0; i < images; ++i) {
      bdc::ImageRecord record;
      record.id.text = std::to_string(i);
      record.id.is_integer = true;
      record.width = 200 + pick(200);
      record.height = 200 + pick(200);
      crowd.images.push_back(record);
      const int objects = pick(4);
      for (int o = 0; o < objects; ++o) {
        const double w = uniform(20, 100), h = uniform(20, 100), x = uniform(0, 100), y = uniform(0, 100);
        const int label = pick(J);
        const auto jitter = [&](double noise) {
          const double cx = x + w / 2 + w * uniform(-noise, noise), cy = y + h / 2 + h * uniform(-noise, noise);
          const double half_w = w / 2 * (1 + uniform(-noise, noise)), half_h = h / 2 * (1 + uniform(-noise, noise));
          return bdc::Box{std::max(0.0, cx - half_w), std::max(0.0, cy - half_h), cx + half_w, cy + half_h};
        };
        for (int k = 0; k < K; ++k) {
          if (uniform(0, 1) < 0.3) continue;
          crowd.annotations.push_back({jitter(0.1 + 0.02 * k), i, uniform(0, 1) < 0.7 ? label : pick(J), k});
        }
        if (uniform(0, 1) < 0.8) add_prediction(rng, jitter(0.1), label, J);
        crowd.truth.push_back({{x, y, x + w, y + h}, i, label, false, w * h});
      }
      if (pick(3) == 0) {
        const double x = uniform(0, 100), y = uniform(0, 100);
        crowd.annotations.push_back({{x, y, x + uniform(5, 50), y + uniform(5, 50)}, i, pick(J), pick(K)});
      }
      for (int k = 0; k < K; ++k) {
        if (pick(4) == 0) crowd.assignments.push_back({i, k});
      }
      predictions.begin.push_back(predictions.box.size());
    }
    crowd.assignments_known = true;
    crowd.has_truth = true;
    crowd.finalize();
  }

 private:
  void add_prediction(std::mt19937& rng, const bdc::Box& box, int label, int J) {
    std::vector<double> p(static_cast<std::size_t>(J));
    double sum = 0;
    for (int j = 0; j < J; ++j) {
      p[static_cast<std::size_t>(j)] = std::uniform_real_distribution<double>(0.01, 1)(rng) + (j == label ? 2.0 : 0.0);
      sum += p[static_cast<std::size_t>(j)];
    }
    for (double& value : p) predictions.class_probs.push_back(value / sum);
    predictions.box.push_back(box);
    predictions.score.push_back(*std::max_element(p.begin(), p.end()) / sum);
  }
};
