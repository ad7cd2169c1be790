#include "shapes/crowd_shapes.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "shapes/random.h"

namespace bdc::host {
namespace {

constexpr double kTwoPi = 6.283185307179586;
constexpr std::uint64_t kBiasStream = 7, kUnseenStream = 8, kDrawingStream = 1000, kPerSkill = 1000000;

double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(kTwoPi * random.uniform());
}

/// One annotator at work.
struct Hand {
  SimulatedAnnotator self;
  bool guesses = false;
  std::uint64_t stream = 0;  ///< tells this annotator's random numbers from others'
};

Hand make_hand(const char* skill, std::int64_t number, std::uint64_t skill_number, const SkillNumbers& numbers,
               std::int64_t classes, std::uint64_t seed) {
  Hand hand;
  hand.self.name = std::string(skill) + "-" + std::to_string(number + 1);
  hand.self.skill = skill;
  hand.self.recall = numbers.recall;
  hand.self.spurious_rate = numbers.spurious_rate;
  hand.guesses = numbers.class_accuracy <= 0 || classes == 1;
  hand.self.class_accuracy = hand.guesses ? 1.0 / static_cast<double>(classes) : numbers.class_accuracy;
  hand.stream = kDrawingStream + skill_number * kPerSkill + static_cast<std::uint64_t>(number);
  Random random(seed, kBiasStream, hand.stream);
  for (std::size_t c = 0; c < 4; ++c) {
    hand.self.noise[c] = numbers.box_noise;
    hand.self.bias[c] = normal(random) * numbers.box_noise / 2;
  }
  return hand;
}

std::vector<Hand> make_hands(const CrowdShapesSettings& s, std::int64_t classes) {
  struct Group {
    const char* skill;
    std::int64_t count;
    const SkillNumbers& numbers;
  };
  const Group groups[] = {{"expert", s.experts, s.expert_numbers},
                          {"average", s.average, s.average_numbers},
                          {"poor", s.poor, s.poor_numbers},
                          {"random", s.random, s.random_numbers}};
  std::vector<Hand> hands;
  std::uint64_t skill_number = 0;
  for (const Group& group : groups) {
    const auto& n = group.numbers;
    const bool sound = group.count >= 0 && group.count < static_cast<std::int64_t>(kPerSkill) && n.recall >= 0 &&
                       n.recall <= 1 && n.spurious_rate >= 0 && n.spurious_rate < 1000 && n.class_accuracy >= 0 &&
                       n.class_accuracy <= 1 && n.box_noise >= 0 && n.box_noise < 10;
    if (!sound) throw std::invalid_argument(std::string("simulated crowd: numbers of skill ") + group.skill);
    for (std::int64_t i = 0; i < group.count; ++i) {
      hands.push_back(make_hand(group.skill, i, skill_number, n, classes, s.seed));
    }
    ++skill_number;
  }
  return hands;
}

Box whole_pixels(const Box& b) {
  return {std::nearbyint(b.x1), std::nearbyint(b.y1), std::nearbyint(b.x2), std::nearbyint(b.y2)};
}

Box drawn(const Box& b, const SimulatedAnnotator& who, double width, double height, Random& random) {
  std::array<double, 4> error{};
  for (std::size_t c = 0; c < 4; ++c) error[c] = who.bias[c] + who.noise[c] * normal(random);
  const double cx = (b.x1 + b.x2) / 2 + b.width() * error[0], cy = (b.y1 + b.y2) / 2 + b.height() * error[1];
  const double w = b.width() * std::exp(error[2]), h = b.height() * std::exp(error[3]);
  Box out{std::max(0.0, cx - w / 2), std::max(0.0, cy - h / 2), std::min(width, cx + w / 2),
          std::min(height, cy + h / 2)};
  if (!(out.width() >= 2)) out.x1 = std::clamp(out.x1, 0.0, width - 2), out.x2 = out.x1 + 2;
  if (!(out.height() >= 2)) out.y1 = std::clamp(out.y1, 0.0, height - 2), out.y2 = out.y1 + 2;
  return whole_pixels(out);
}

Box anywhere(double width, double height, Random& random) {
  const double w = random.uniform(0.08, 0.6) * width, h = random.uniform(0.08, 0.6) * height;
  const double x = random.uniform(0, width - w), y = random.uniform(0, height - h);
  return whole_pixels({x, y, x + w, y + h});
}

std::int32_t given_class(const Hand& hand, std::int32_t label, std::int64_t classes, Random& random) {
  if (hand.guesses) return static_cast<std::int32_t>(random.below(classes));
  if (random.uniform() < hand.self.class_accuracy) return label;
  const double neighbours = 4.6 / (4 + 0.3 * static_cast<double>(classes - 1));
  std::int64_t step = 1 + random.below(classes - 1);  // any other class
  if (random.uniform() < neighbours) step = random.uniform() < 0.5 ? 1 : classes - 1;
  return static_cast<std::int32_t>((label + step) % classes);
}

void annotate(CrowdData& labels, std::size_t image, std::int32_t annotator, const Hand& hand, Random& random) {
  const auto classes = static_cast<std::int64_t>(labels.classes.size());
  const double width = labels.images[image].width, height = labels.images[image].height;
  const auto index = static_cast<std::int32_t>(image);
  labels.assignments.push_back({index, annotator});
  for (std::size_t n = labels.truth_begin[image]; n < labels.truth_begin[image + 1]; ++n) {
    const TruthBox& object = labels.truth[n];
    if (random.uniform() >= hand.self.recall) continue;
    const Box box = drawn(object.box, hand.self, width, height, random);
    labels.annotations.push_back({box, index, given_class(hand, object.label, classes, random), annotator});
  }
  double invented = hand.self.spurious_rate;
  for (; invented > 0 && random.uniform() < invented; invented -= 1) {
    const Box box = anywhere(width, height, random);
    labels.annotations.push_back({box, index, static_cast<std::int32_t>(random.below(classes)), annotator});
  }
}

}  // namespace

std::vector<SimulatedAnnotator> simulate_crowd(CrowdData& labels, const CrowdShapesSettings& settings) {
  if (!labels.annotators.empty()) throw std::invalid_argument("simulated crowd: the labels have annotators already");
  if (!(settings.share > 0 && settings.share <= 1)) throw std::invalid_argument("simulated crowd: share in (0, 1]");
  const auto hands = make_hands(settings, static_cast<std::int64_t>(labels.classes.size()));
  std::vector<SimulatedAnnotator> out;
  for (const Hand& hand : hands) {
    AnnotatorRecord record;
    record.id.text = record.name = hand.self.name;
    labels.annotators.push_back(std::move(record));
    out.push_back(hand.self);
  }
  if (hands.empty()) return out;
  for (std::size_t i = 0; i < labels.images.size(); ++i) {
    bool seen = false;
    const auto look = [&](std::size_t k, bool must) {
      Random random(settings.seed, hands[k].stream, i);
      if (random.uniform() >= settings.share && !must) return;
      seen = true;
      annotate(labels, i, static_cast<std::int32_t>(k), hands[k], random);
    };
    for (std::size_t k = 0; k < hands.size(); ++k) look(k, false);
    if (!seen) {
      Random random(settings.seed, kUnseenStream, i);
      look(static_cast<std::size_t>(random.below(static_cast<std::int64_t>(hands.size()))), true);
    }
  }
  labels.assignments_known = true;
  labels.finalize();
  return out;
}

CrowdShapesData::CrowdShapesData(const ShapesSettings& shapes, const CrowdShapesSettings& crowd)
    : shapes_(shapes), labels_(shapes_.labels()), annotators_(simulate_crowd(labels_, crowd)) {}

}  // namespace bdc::host
