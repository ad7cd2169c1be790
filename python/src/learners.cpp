#include "bdc/learn/learners.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "arrays.h"
#include "bdc/base/error.h"
#include "bdc/base/json_stream.h"
#include "bdc/base/parallel.h"
#include "bdc/base/text.h"
#include "bdc/crowd/coco.h"
#include "module.h"

namespace bdc::python {
namespace {

using Given = std::map<std::string, OptionValue>;

/// The learner that a method's name and its option `profile` stand for.
const LearnerEntry& entry_of(const std::string& name, Given& options) {
  for (const MethodInfo& method : methods()) {
    if (method.name != name || method.learners.empty()) continue;
    const auto profile = options.find("profile");
    if (profile == options.end()) return *method.learners.front();
    const std::string wanted = option_text(profile->second);
    for (const LearnerEntry* learner : method.learners) {
      if (learner->info.name == wanted) {
        options.erase(profile);
        return *learner;
      }
    }
    (void)parse_option(find_option(method.options, "profile", name), wanted, name + ".profile");  // says what is known
  }
  if (const LearnerEntry* learner = find_learner(name)) return *learner;
  (void)make_learner(name);  // throws, and names the nearest
  throw py::value_error("unknown method " + name);
}

std::unique_ptr<Learner> learner_for(const std::string& name, Given options) {
  const LearnerEntry& entry = entry_of(name, options);
  return make_learner_with(entry.info.name, options);
}

/// A method with the options that `aggregate` takes, as the program makes it.
std::unique_ptr<Learner> method_for(const std::string& name, const Given& options) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : options) texts[key] = option_text(value);
  return make_learner(name, texts);
}

/// Lets Ctrl-C through.
void let_signals_through() {
  const py::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// Calls back, and lets Ctrl-C through.
std::function<void(const Progress&)> reporter(const py::object& callback) {
  return [callback](const Progress& p) {
    const py::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!callback.is_none()) callback(p.round, p.max_rounds, p.change, p.images_done, p.images);
  };
}

struct Fitted {
  std::shared_ptr<Targets> targets;
  std::shared_ptr<AnnotatorPosteriors> posteriors;  // null: the method learns nothing of annotators
  std::vector<std::string> warnings;
  std::vector<double> bound;
  int rounds = 0;
  bool converged = true;
  std::vector<std::int32_t> community;
};

void check_crowd_to_learn_from(const CrowdData& crowd) {
  if (crowd.images.empty()) throw DataError("expected images, found none; there is nothing to aggregate");
  if (crowd.annotators.empty())
    throw DataError("the labels have no annotators; aggregation needs to know who drew what");
  if (crowd.classes.empty())
    throw DataError("expected classes, found none; boxes without a class cannot be aggregated");
}

std::shared_ptr<Fitted> fit(const Crowd& crowd, const std::string& method, const Given& options,
                            const Predictions* predictions, const AnnotatorPosteriors* prior, int threads,
                            const py::object& progress) {
  check_crowd_to_learn_from(crowd.data);
  const auto learner = method_for(method, options);
  auto out = std::make_shared<Fitted>();
  FitInput input;
  input.crowd = &crowd.data;
  input.predictions = predictions;
  AnnotatorPosteriors aligned;
  if (prior != nullptr) {
    Alignment how;
    aligned = aligned_with(*prior, crowd.data, &how);
    if (how.by_name)
      out->warnings.push_back(
          "prior: its ids belong to different people than in the labels, so annotators are matched by name");
    if (how.matched == 0) out->warnings.push_back("prior: has none of these labels' annotators, so it changes nothing");
    input.prior = &aligned;
  }
  if (threads < 0) throw py::value_error("threads: expected 0 or more, found " + std::to_string(threads));
  input.threads = threads;
  input.progress = reporter(progress);
  FitResult result;
  {
    const py::gil_scoped_release unlocked;
    const InterruptionCheck check(let_signals_through);
    result = learner->fit(input);
  }
  out->targets = std::make_shared<Targets>(std::move(result.targets));
  if (result.posteriors) out->posteriors = std::make_shared<AnnotatorPosteriors>(std::move(*result.posteriors));
  out->warnings.insert(out->warnings.end(), result.warnings.begin(), result.warnings.end());
  out->bound = std::move(result.bound);
  out->rounds = result.rounds;
  out->converged = result.converged;
  if (result.dependence) out->community = result.dependence->community;
  return out;
}

/// Boxes of a detector, checked, best first.
struct Detections {
  std::vector<Box> box;
  std::vector<double> score, class_probs;
};

Detections checked(const Numbers& boxes, const Numbers& scores, const Numbers& probs, std::size_t J) {
  const auto N = static_cast<std::size_t>(scores.size());
  if (scores.ndim() != 1) throw DataError("scores: expected one dimension, found " + std::to_string(scores.ndim()));
  if (boxes.size() != static_cast<py::ssize_t>(4 * N) || (N > 0 && (boxes.ndim() != 2 || boxes.shape(1) != 4))) {
    throw DataError("boxes: expected " + std::to_string(N) + " rows of x1, y1, x2, y2, as many as scores");
  }
  if (probs.size() != static_cast<py::ssize_t>(N * J) ||
      (N > 0 && (probs.ndim() != 2 || static_cast<std::size_t>(probs.shape(1)) != J))) {
    throw DataError("class_probs: expected " + std::to_string(N) + " rows of " + counted(J, "number") +
                    ", one per class");
  }
  std::vector<std::size_t> order(N);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double* score = scores.data();
  for (std::size_t n = 0; n < N; ++n) {
    if (!(score[n] >= 0 && score[n] <= 1)) {
      throw DataError("scores[" + std::to_string(n) + "]: expected a number from 0 to 1, found " +
                      shortest_decimal(score[n]));
    }
    const double* b = boxes.data() + 4 * n;
    if (!Box{b[0], b[1], b[2], b[3]}.valid() || !(std::max({-b[0], -b[1], b[2], b[3]}) <= 1e9)) {
      throw DataError("boxes[" + std::to_string(n) +
                      "]: expected finite numbers of at most 1e9 with x1 < x2 and y1 < y2, found (" +
                      shortest_decimal(b[0]) + ", " + shortest_decimal(b[1]) + ", " + shortest_decimal(b[2]) + ", " +
                      shortest_decimal(b[3]) + ")");
    }
    double sum = 0;
    for (std::size_t j = 0; j < J; ++j) {
      const double p = probs.data()[n * J + j];
      if (!(p >= 0) || !std::isfinite(p)) {
        throw DataError("class_probs[" + std::to_string(n) + "][" + std::to_string(j) +
                        "]: expected 0 or more, found " + shortest_decimal(p));
      }
      sum += p;
    }
    if (!(sum > 0) || !std::isfinite(sum))
      throw DataError("class_probs[" + std::to_string(n) + "]: expected a sum above 0");
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
  Detections out;
  for (const std::size_t n : order) {
    const double* b = boxes.data() + 4 * n;
    out.box.push_back({b[0], b[1], b[2], b[3]});
    out.score.push_back(score[n]);
    double sum = 0;
    for (std::size_t j = 0; j < J; ++j) sum += probs.data()[n * J + j];
    for (std::size_t j = 0; j < J; ++j) out.class_probs.push_back(probs.data()[n * J + j] / sum);
  }
  return out;
}

std::shared_ptr<Predictions> predictions_from_arrays(const Crowd& crowd, const Codes& image, const Numbers& boxes,
                                                     const Numbers& scores, const Numbers& probs) {
  const std::size_t J = crowd.data.classes.size(), images = crowd.data.images.size();
  const auto N = static_cast<std::size_t>(image.size());
  if (static_cast<std::size_t>(scores.size()) != N) throw DataError("predictions: expected as many scores as images");
  std::vector<std::vector<std::size_t>> of(images);
  for (std::size_t n = 0; n < N; ++n) {
    const std::int32_t i = image.data()[n];
    if (i < 0 || static_cast<std::size_t>(i) >= images)
      throw DataError("predictions: there is no image " + std::to_string(i));
    of[static_cast<std::size_t>(i)].push_back(n);
  }
  (void)checked(boxes, scores, probs, J);
  auto out = std::make_shared<Predictions>();
  out->num_classes = static_cast<int>(J);
  out->begin.push_back(0);
  for (std::size_t i = 0; i < images; ++i) {
    auto& rows = of[i];
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return scores.data()[a] > scores.data()[b]; });
    for (const std::size_t n : rows) {
      const double* b = boxes.data() + 4 * n;
      out->box.push_back({b[0], b[1], b[2], b[3]});
      out->score.push_back(scores.data()[n]);
      const double* p = probs.data() + n * J;
      const double sum = std::accumulate(p, p + J, 0.0);
      for (std::size_t j = 0; j < J; ++j) out->class_probs.push_back(p[j] / sum);
    }
    out->begin.push_back(out->box.size());
  }
  return out;
}

/// A learner beside a training loop, with the crowd that it learns from.
class OnlineLearner {
 public:
  OnlineLearner(std::shared_ptr<Crowd> crowd, const std::string& method, const Given& options, int threads)
      : crowd_(std::move(crowd)), learner_(learner_for(method, options)) {
    check_crowd_to_learn_from(crowd_->data);
    if (threads < 0) throw py::value_error("threads: expected 0 or more, found " + std::to_string(threads));
    const py::gil_scoped_release unlocked;
    const InterruptionCheck check(let_signals_through);
    learner_->begin(crowd_->data, threads);
  }
  [[nodiscard]] std::shared_ptr<Targets> without_detector() const {
    return std::make_shared<Targets>(learner_->without_detector());
  }
  std::shared_ptr<Targets> observe(std::size_t image, const Numbers& boxes, const Numbers& scores,
                                   const Numbers& probs) {
    if (image >= crowd_->data.images.size()) throw py::index_error("there is no image " + std::to_string(image));
    const Detections d = checked(boxes, scores, probs, crowd_->data.classes.size());
    return std::make_shared<Targets>(learner_->observe(image, {d.box, d.score, d.class_probs}));
  }
  double finish_epoch() { return learner_->finish_epoch(); }
  [[nodiscard]] std::shared_ptr<AnnotatorPosteriors> posteriors() const {
    auto p = learner_->posteriors();
    return p ? std::make_shared<AnnotatorPosteriors>(std::move(*p)) : nullptr;
  }
  [[nodiscard]] py::bytes save() const { return learner_->save(); }
  void load(const std::string& bytes) { learner_->load(bytes); }

 private:
  std::shared_ptr<Crowd> crowd_;
  std::unique_ptr<Learner> learner_;
};

}  // namespace

void add_learners(py::module_& m) {
  py::class_<Predictions, std::shared_ptr<Predictions>>(m, "Predictions")
      .def("__len__", [](const Predictions& p) { return p.box.size(); })
      .def_static("from_arrays", &predictions_from_arrays, py::arg("crowd"), py::arg("image"), py::arg("boxes"),
                  py::arg("scores"), py::arg("class_probs"))
      .def_static(
          "read",
          [](const std::string& path, const Crowd& crowd) {
            return std::make_shared<Predictions>(read_predictions(path, crowd.data));
          },
          py::arg("path"), py::arg("crowd"))
      .def_static(
          "parse",
          [](const std::string& text, const Crowd& crowd) {
            std::istringstream in(text);
            return std::make_shared<Predictions>(parse_predictions(in, "predictions", crowd.data));
          },
          py::arg("text"), py::arg("crowd"));
  py::class_<Fitted, std::shared_ptr<Fitted>>(m, "Fitted")
      .def_readonly("targets", &Fitted::targets)
      .def_readonly("posteriors", &Fitted::posteriors)
      .def_readonly("warnings", &Fitted::warnings)
      .def_readonly("bound", &Fitted::bound)
      .def_readonly("rounds", &Fitted::rounds)
      .def_readonly("converged", &Fitted::converged)
      .def_readonly("community", &Fitted::community);
  m.def("fit", &fit, py::arg("crowd"), py::arg("method"), py::arg("options"), py::arg("predictions").none(true),
        py::arg("prior").none(true), py::arg("threads"), py::arg("progress"));
  m.def("methods", [] {
    py::dict out;
    for (const MethodInfo& method : methods()) out[py::str(method.name)] = method.description;
    return out;
  });
  m.def("options_of", [](const std::string& name) {
    py::dict out;
    for (const MethodInfo& method : methods()) {
      if (method.name != name) continue;
      for (const OptionSpec& option : method.options) out[py::str(option.name)] = option.help;
    }
    return out;
  });
  py::class_<OnlineLearner>(m, "Learner")
      .def(py::init<std::shared_ptr<Crowd>, const std::string&, const Given&, int>(), py::arg("crowd").none(false),
           py::arg("method"), py::arg("options"), py::arg("threads"))
      .def("without_detector", &OnlineLearner::without_detector)
      .def("observe", &OnlineLearner::observe, py::arg("image"), py::arg("boxes"), py::arg("scores"),
           py::arg("class_probs"))
      .def("finish_epoch", &OnlineLearner::finish_epoch)
      .def("posteriors", &OnlineLearner::posteriors)
      .def("save", &OnlineLearner::save)
      .def("load", &OnlineLearner::load, py::arg("bytes"));
}

}  // namespace bdc::python
