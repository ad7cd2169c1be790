#include "sim_crowd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>

namespace bdc {
namespace {

struct SkillNumbers {
  double accuracy, miss, jitter, spurious;  ///< spurious boxes: probability per image
};
constexpr SkillNumbers kSkills[] = {
    {0.74, 0.05, 0.04, 0.10}, {0.55, 0.12, 0.09, 0.25}, {0.35, 0.22, 0.16, 0.45}, {0.0, 0.30, 0.60, 0.90}};

class Simulator {
 public:
  explicit Simulator(const SimulatedCrowdOptions& options) : options_(options), rng_(options.seed) {}

  SimulatedCrowd run() {
    const int J = options_.classes;
    for (int j = 0; j < J; ++j) {
      ClassRecord record;
      record.id.text = std::to_string(j);
      record.id.is_integer = true;
      record.name = "class" + record.id.text;
      out_.crowd.classes.push_back(std::move(record));
    }
    for (const SkillGroup& group : options_.groups) {
      for (int n = 0; n < group.annotators; ++n) {
        AnnotatorRecord record;
        record.id.text = std::to_string(annotators_.size());
        record.id.is_integer = true;
        out_.crowd.annotators.push_back(std::move(record));
        annotators_.push_back({kSkills[group.skill], group.coverage, {}});
        for (double& b : annotators_.back().bias) b = normal(kSkills[group.skill].jitter / 2);
      }
    }
    out_.predictions.num_classes = J;
    out_.predictions.begin.assign(1, 0);
    std::size_t expected = 0;
    for (const Annotator& a : annotators_) {
      expected += static_cast<std::size_t>(a.coverage * options_.images * (options_.objects_per_image + 0.5));
    }
    out_.crowd.annotations.reserve(expected);
    for (int i = 0; i < options_.images; ++i) simulate_image(i);
    out_.crowd.assignments_known = true;
    out_.crowd.has_truth = options_.with_truth;
    out_.crowd.finalize();
    return std::move(out_);
  }

 private:
  struct Annotator {
    SkillNumbers skill;
    double coverage;
    std::array<double, 4> bias;
  };
  struct Object {
    Box box;
    int label;
  };

  double uniform(double low = 0, double high = 1) { return std::uniform_real_distribution<double>(low, high)(rng_); }
  double normal(double deviation) { return std::normal_distribution<double>(0, deviation)(rng_); }
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng_); }

  /// How many are passed over before the next success of probability p.
  double jump(double p) { return p >= 1 ? 0 : std::floor(std::log1p(-uniform()) / std::log1p(-p)); }

  Box random_box(double w, double h) {
    const double bw = uniform(0.08, 0.6) * w, bh = uniform(0.08, 0.6) * h;
    const double x = uniform(0, w - bw), y = uniform(0, h - bh);
    return {x, y, x + bw, y + bh};
  }

  Box drawn(const Box& b, double jitter, const std::array<double, 4>& bias, double w, double h) {
    const double cx = (b.x1 + b.x2) / 2 + b.width() * (bias[0] + normal(jitter));
    const double cy = (b.y1 + b.y2) / 2 + b.height() * (bias[1] + normal(jitter));
    const double bw = b.width() * std::exp(bias[2] + normal(jitter));
    const double bh = b.height() * std::exp(bias[3] + normal(jitter));
    Box out{std::max(0.0, cx - bw / 2), std::max(0.0, cy - bh / 2), std::min(w, cx + bw / 2), std::min(h, cy + bh / 2)};
    if (out.width() < 2) out.x1 = std::clamp(out.x1, 0.0, w - 2), out.x2 = out.x1 + 2;
    if (out.height() < 2) out.y1 = std::clamp(out.y1, 0.0, h - 2), out.y2 = out.y1 + 2;
    return out;
  }

  /// Right with the annotator's accuracy, else mostly a neighbouring class.
  int given_class(const SkillNumbers& skill, int label) {
    const int J = options_.classes;
    if (skill.accuracy == 0 || J == 1) return pick(J);
    if (uniform() < skill.accuracy) return label;
    const double neighbours = 4.6 / (4 + 0.3 * (J - 1));
    if (uniform() < neighbours) return (label + (pick(2) == 0 ? 1 : J - 1)) % J;
    return pick(J);
  }

  void add_annotation(int image, int annotator, const Box& b, int label) {
    out_.crowd.annotations.push_back(
        {{std::nearbyint(b.x1), std::nearbyint(b.y1), std::nearbyint(b.x2), std::nearbyint(b.y2)},
         image,
         label,
         annotator});
  }

  /// Dirichlet(concentration) scaled by `rest`, plus `own` on the label (label < 0: none), normalised.
  void add_prediction(const Box& box, double concentration, double rest, int label, double own) {
    std::gamma_distribution<double> gamma(concentration, 1);
    const int J = options_.classes;
    std::vector<double> p(static_cast<std::size_t>(J));
    double sum = 0;
    for (double& value : p) sum += value = gamma(rng_) + 1e-300;
    for (double& value : p) value *= rest / sum;
    if (label >= 0) p[static_cast<std::size_t>(label)] += own;
    sum = 0;
    for (const double value : p) sum += value;
    for (double& value : p) value /= sum;
    out_.predictions.class_probs.insert(out_.predictions.class_probs.end(), p.begin(), p.end());
    out_.predictions.box.push_back(box);
    out_.predictions.score.push_back(*std::max_element(p.begin(), p.end()));
  }

  void simulate_image(int image) {
    ImageRecord record;
    record.id.text = std::to_string(image);
    record.id.is_integer = true;
    record.width = 300 + pick(201);
    record.height = 300 + pick(201);
    const double w = record.width, h = record.height;
    out_.crowd.images.push_back(std::move(record));

    std::vector<Object> objects(
        1 + static_cast<std::size_t>(std::poisson_distribution<int>(options_.objects_per_image - 1)(rng_)));
    for (Object& object : objects) object = {random_box(w, h), pick(options_.classes)};
    if (options_.with_truth) {
      for (const Object& o : objects) out_.crowd.truth.push_back({o.box, image, o.label, false, o.box.area()});
    }

    bool seen = false;
    int first = 0;
    for (const SkillGroup& group : options_.groups) {
      // Who sees the image: every annotator of the group with the same chance, found by jumping over those who do not.
      for (double k = jump(group.coverage); k < group.annotators; k += 1 + jump(group.coverage)) {
        seen = true;
        annotate(image, first + static_cast<int>(k), objects, w, h);
      }
      first += group.annotators;
    }
    if (!seen) annotate(image, pick(static_cast<int>(annotators_.size())), objects, w, h);
    if (options_.with_predictions) detect(objects, w, h);
    out_.predictions.begin.push_back(out_.predictions.box.size());
  }

  void annotate(int image, int k, const std::vector<Object>& objects, double w, double h) {
    const Annotator& annotator = annotators_[static_cast<std::size_t>(k)];
    out_.crowd.assignments.push_back({image, k});
    for (const Object& o : objects) {
      if (uniform() < annotator.skill.miss) continue;
      add_annotation(image, k, drawn(o.box, annotator.skill.jitter, annotator.bias, w, h),
                     given_class(annotator.skill, o.label));
    }
    if (uniform() < annotator.skill.spurious) add_annotation(image, k, random_box(w, h), pick(options_.classes));
  }

  void detect(const std::vector<Object>& objects, double w, double h) {
    const std::size_t before = out_.predictions.box.size();
    for (const Object& o : objects) {
      if (uniform() < 0.08) continue;
      add_prediction(drawn(o.box, 0.03, {}, w, h), 0.3, 0.2, o.label, uniform() < 0.85 ? 0.8 : 0.0);
    }
    for (int n = std::poisson_distribution<int>(0.3)(rng_); n > 0; --n) add_prediction(random_box(w, h), 0.5, 1, -1, 0);
    if (out_.predictions.box.size() == before) add_prediction(random_box(w, h), 1e3, 1, -1, 0);
  }

  SimulatedCrowdOptions options_;
  std::mt19937_64 rng_;
  std::vector<Annotator> annotators_;
  SimulatedCrowd out_;
};

}  // namespace

SimulatedCrowdOptions simulated_preset(const std::string& name) {
  SimulatedCrowdOptions o;
  if (name == "voc-full") {
    o.groups = {{SkillGroup::kAverage, 10, 1}};
  } else if (name == "voc-mix") {
    o.groups = {{SkillGroup::kExpert, 5, 1}, {SkillGroup::kAverage, 20, 1}};
  } else if (name == "coco-mix") {
    o.classes = 80;
    o.groups = {{SkillGroup::kExpert, 20, 0.05},
                {SkillGroup::kAverage, 550, 0.01},
                {SkillGroup::kPoor, 330, 0.005},
                {SkillGroup::kRandom, 100, 0.01}};
  } else if (name == "noisy") {
    o.classes = 10;
    o.groups = {{SkillGroup::kExpert, 3, 0.6}, {SkillGroup::kPoor, 17, 0.6}, {SkillGroup::kRandom, 5, 0.6}};
  } else {
    throw std::invalid_argument("no preset \"" + name + "\"; there are voc-full, voc-mix, coco-mix, noisy");
  }
  return o;
}

SimulatedCrowd simulate_crowd(const SimulatedCrowdOptions& options) {
  return Simulator(options).run();
}

SimulatedDetections simulate_detections(int images, int classes, int objects, int detections, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(rng); };
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng); };
  const auto cents = [](double v) { return std::nearbyint(v * 100) / 100; };
  const auto random_box = [&] {
    const double w = std::exp(uniform(std::log(10.0), std::log(300.0))),
                 h = std::exp(uniform(std::log(10.0), std::log(300.0)));
    return CocoBox{cents(uniform(0, 1) * (640 - w)), cents(uniform(0, 1) * (640 - h)), cents(w), cents(h)};
  };
  std::vector<int> per_image(static_cast<std::size_t>(images), 0);
  for (int n = 0; n < objects; ++n) ++per_image[static_cast<std::size_t>(pick(images))];
  SimulatedDetections out;
  out.truth.reserve(static_cast<std::size_t>(objects));
  out.detections.reserve(static_cast<std::size_t>(images) * static_cast<std::size_t>(detections));
  std::normal_distribution<double> noise(0, 0.08);
  for (int i = 0; i < images; ++i) {
    const std::size_t first = out.truth.size();
    const int m = per_image[static_cast<std::size_t>(i)];
    for (int n = 0; n < m; ++n) {
      const CocoBox b = random_box();
      out.truth.push_back({b, b.width * b.height, i, pick(classes), uniform(0, 1) < 0.01});
    }
    for (int n = 0; n < detections; ++n) {
      CocoDetection d{random_box(), std::pow(uniform(0, 1), 2), i, pick(classes)};
      if (m > 0 && uniform(0, 1) < 0.35) {
        const CocoTruth& t = out.truth[first + static_cast<std::size_t>(pick(m))];
        d.box = {cents(t.box.x + t.box.width * noise(rng)), cents(t.box.y + t.box.height * noise(rng)),
                 cents(std::max(1.0, t.box.width * (1 + noise(rng)))),
                 cents(std::max(1.0, t.box.height * (1 + noise(rng))))};
        if (uniform(0, 1) < 0.8) d.label = t.label;
        d.score = std::sqrt(d.score);
      }
      d.score = std::nearbyint(d.score * 1e4) / 1e4;
      out.detections.push_back(d);
    }
  }
  return out;
}

}  // namespace bdc
