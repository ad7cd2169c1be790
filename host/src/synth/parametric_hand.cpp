#include "synth/parametric_hand.h"

#include <algorithm>
#include <cmath>

#include "bdc/crowd/clip_to_image.h"
#include "synth/draws.h"
#include "synth/random_box.h"

namespace bdc::host {
namespace {

Box drawn(const Box& b, const SimulatedAnnotator& who, double width, double height, Random& random) {
  std::array<double, 4> error{};
  for (std::size_t c = 0; c < 4; ++c) error[c] = who.bias[c] + who.noise[c] * random.normal();
  const double cx = (b.x1 + b.x2) / 2 + b.width() * error[0], cy = (b.y1 + b.y2) / 2 + b.height() * error[1];
  const double w = b.width() * std::exp(error[2]), h = b.height() * std::exp(error[3]);
  Box out = clip_to_size({cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2}, width, height);
  if (!(out.width() >= 2)) out.x1 = std::clamp(out.x1, 0.0, width - 2), out.x2 = out.x1 + 2;
  if (!(out.height() >= 2)) out.y1 = std::clamp(out.y1, 0.0, height - 2), out.y2 = out.y1 + 2;
  return whole_pixels(out);
}

/// Share of the mistakes that fall on the two neighbours.
double neighbour_share(std::int64_t classes) {
  return 4.6 / (4 + 0.3 * static_cast<double>(classes - 1));
}

/// The classes that share a set with each class, without itself.
std::vector<std::vector<std::int32_t>> relatives_of(const ConfusionRule& rule, std::size_t classes) {
  std::vector<std::vector<std::int32_t>> out(classes);
  for (const auto& set : rule.related) {
    for (const auto a : set) {
      for (const auto b : set) {
        if (a != b) out[static_cast<std::size_t>(a)].push_back(b);
      }
    }
  }
  return out;
}

class ParametricHand : public Hand {
 public:
  ParametricHand(const SimulatedAnnotator& self, bool guesses, const ConfusionRule& rule, std::size_t classes)
      : self_(self),
        guesses_(guesses),
        kind_(rule.kind),
        related_share_(rule.related_share),
        classes_(static_cast<std::int64_t>(classes)) {
    if (kind_ == ConfusionRule::Kind::related) relatives_ = relatives_of(rule, classes);
  }

  void draw(const CrowdData& truth, std::size_t image, Random& random, std::vector<Drawing>& out) const override {
    const double width = truth.images[image].width, height = truth.images[image].height;
    for (std::size_t n = truth.truth_begin[image]; n < truth.truth_begin[image + 1]; ++n) {
      const TruthBox& object = truth.truth[n];
      if (object.is_crowd || random.uniform() >= self_.recall) continue;
      const Box box = drawn(object.box, self_, width, height, random);
      out.push_back({box, given_class(object.label, random), static_cast<std::int32_t>(n)});
    }
    double invented = self_.spurious_rate;
    for (; invented > 0 && random.uniform() < invented; invented -= 1) {
      const Box box = random_box(width, height, random);
      out.push_back({box, static_cast<std::int32_t>(random.below(classes_))});
    }
  }

 private:
  [[nodiscard]] std::int32_t given_class(std::int32_t label, Random& random) const {
    if (guesses_) return static_cast<std::int32_t>(random.below(classes_));
    if (classes_ == 1 || random.uniform() < self_.class_accuracy) return label;
    if (kind_ == ConfusionRule::Kind::related) {
      const auto& relatives = relatives_[static_cast<std::size_t>(label)];
      if (!relatives.empty() && random.uniform() < related_share_) {
        return relatives[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(relatives.size())))];
      }
    }
    std::int64_t step = 1 + random.below(classes_ - 1);  // any other class
    if (kind_ == ConfusionRule::Kind::neighbours && random.uniform() < neighbour_share(classes_)) {
      step = random.uniform() < 0.5 ? 1 : classes_ - 1;
    }
    return static_cast<std::int32_t>((label + step) % classes_);
  }

  SimulatedAnnotator self_;
  bool guesses_;
  ConfusionRule::Kind kind_;
  double related_share_;
  std::int64_t classes_;
  std::vector<std::vector<std::int32_t>> relatives_;
};

}  // namespace

std::vector<double> confusion_matrix(const ConfusionRule& rule, double accuracy, std::size_t classes) {
  std::vector<double> out(classes * classes, 0.0);
  const auto J = static_cast<double>(classes);
  const auto relatives = relatives_of(rule, classes);
  for (std::size_t j = 0; j < classes; ++j) {
    double* row = &out[j * classes];
    row[j] = classes == 1 ? 1 : accuracy;
    if (classes == 1) continue;
    double anywhere_share = 1;
    if (rule.kind == ConfusionRule::Kind::neighbours) {
      anywhere_share = 1 - std::min(1.0, neighbour_share(static_cast<std::int64_t>(classes)));
      for (const std::size_t step : {std::size_t{1}, classes - 1}) {
        row[(j + step) % classes] += (1 - accuracy) * (1 - anywhere_share) / 2;
      }
    } else if (rule.kind == ConfusionRule::Kind::related && !relatives[j].empty()) {
      anywhere_share = 1 - rule.related_share;
      for (const auto other : relatives[j]) {
        row[static_cast<std::size_t>(other)] +=
            (1 - accuracy) * rule.related_share / static_cast<double>(relatives[j].size());
      }
    }
    for (std::size_t l = 0; l < classes; ++l) {
      if (l != j) row[l] += (1 - accuracy) * anywhere_share / (J - 1);
    }
  }
  return out;
}

SimulatedAnnotator draw_annotator(const std::string& name, const std::string& skill, const SkillNumbers& numbers,
                                  std::int64_t classes, Random& random) {
  SimulatedAnnotator out;
  out.name = name;
  out.skill = skill;
  out.recall = numbers.recall;
  out.spurious_rate = numbers.spurious_rate;
  const double bias = numbers.bias < 0 ? numbers.box_noise / 2 : numbers.bias;
  for (std::size_t c = 0; c < 4; ++c) {
    out.noise[c] = numbers.box_noise;
    out.bias[c] = random.normal() * bias;
  }
  const bool guesses = numbers.class_accuracy <= 0 || classes == 1;
  out.class_accuracy = guesses ? 1.0 / static_cast<double>(classes) : numbers.class_accuracy;
  if (!guesses && numbers.accuracy_spread > 0) {
    out.class_accuracy = std::clamp(out.class_accuracy + numbers.accuracy_spread * random.normal(), 0.0, 1.0);
  }
  return out;
}

std::shared_ptr<const Hand> make_parametric_hand(const SimulatedAnnotator& self, bool guesses,
                                                 const ConfusionRule& rule, std::size_t classes) {
  return std::make_shared<ParametricHand>(self, guesses, rule, classes);
}

}  // namespace bdc::host
