#include "cli/verbs/eval_without_truth.h"

#include <cmath>
#include <iostream>
#include <optional>

#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/crowd/coco.h"
#include "bdc/learn/judge/expected_ap.h"
#include "bdc/metrics/aggregation_ap.h"
#include "bdc/metrics/drawn_alpha.h"
#include "cli/verbs/label_options.h"
#include "files/json_file.h"
#include "show/progress.h"

namespace bdc::host {
namespace {

constexpr double kOverlaps[] = {0.5, 0.6, 0.7, 0.8, 0.9};

std::string percent(double share) {
  return std::isnan(share) ? "-" : fixed(100 * share, 1);
}

std::string number(double value) {
  return std::isnan(value) ? "-" : fixed(value, 3);
}

std::string interval(double low, double high, std::string (*text)(double)) {
  return std::isnan(low) ? "" : text(low) + " to " + text(high);
}

Json json_of(double value) {
  return std::isnan(value) ? Json(nullptr) : Json(value);
}

Json json_of(const ExpectedFigure& f) {
  return {{"mean", f.mean}, {"low", f.low}, {"high", f.high}};
}

Json json_of(const AlphaFigure& f) {
  return {{"alpha", json_of(f.alpha)}, {"low", json_of(f.low)}, {"high", json_of(f.high)}};
}

std::string name_of(const AnnotatorRecord& a) {
  return printable(a.name.empty() ? a.id.text : a.name, 40);
}

std::vector<CocoDetection> detections_of(const std::string& file, const CrowdData& crowd) {
  const auto rank = rank_by_id(crowd.images);
  std::vector<CocoDetection> out;
  scan_coco_results(file, crowd, {}, [&](const CocoResult& r) {
    out.push_back(
        {{r.xywh[0], r.xywh[1], r.xywh[2], r.xywh[3]}, r.score, rank[static_cast<std::size_t>(r.image)], r.label});
  });
  return out;
}

/// Whether most looks were at images that nobody else saw.
bool seen_alone(const CrowdData& crowd) {
  std::size_t alone = 0;
  for (std::size_t i = 0; i < crowd.images.size(); ++i) {
    alone += crowd.assignment_begin[i + 1] - crowd.assignment_begin[i] == 1 ? 1 : 0;
  }
  return 2 * alone > crowd.assignments.size();
}

void print_judgement(const Judgement& j, const CrowdData& crowd) {
  const ExpectedAp& e = j.expected;
  std::cout << "expected without truth, " << fixed(j.objects, 1) << " objects expected\n";
  Table table({"measure", "expected", "90 % interval"});
  table.align_right(1);
  table.add({"AP", percent(e.ap.mean), interval(e.ap.low, e.ap.high, percent)});
  table.add({"AP50", percent(e.ap50.mean), interval(e.ap50.low, e.ap50.high, percent)});
  table.add({"AP75", percent(e.ap75.mean), interval(e.ap75.low, e.ap75.high, percent)});
  table.print(std::cout);
  const Ceilings& c = j.ceilings;
  std::cout << "\nAP of the labels themselves by the same measure\n";
  Table ceilings({"labels of", "AP"});
  ceilings.align_right(1);
  ceilings.add({"one annotator, in the mean of " + std::to_string(c.annotators), percent(c.one_annotator)});
  if (c.best_annotator > 0) {
    ceilings.add({"the best annotator (" + name_of(crowd.annotators[c.best]) + ")", percent(c.best_annotator)});
  }
  ceilings.add({"the consensus", percent(c.consensus)});
  ceilings.print(std::cout);
  std::cout << "\n";
}

void print_agreement(const std::vector<DrawnAlpha>& alphas, const CrowdData& crowd, const EvalByCrowd& what) {
  std::cout << "agreement of the annotators: Krippendorff's alpha of boxes and classes\n";
  Table table({"IoU above", "alpha", "90 % interval", "places"});
  table.align_right(1);
  table.align_right(3);
  for (const DrawnAlpha& a : alphas) {
    table.add(
        {fixed(a.overlap, 1), number(a.all.alpha), interval(a.all.low, a.all.high, number), std::to_string(a.units)});
  }
  table.print(std::cout);
  const DrawnAlpha& first = alphas.front();
  if (what.per_class) {
    std::cout << "\n";
    Table classes({"class, IoU above " + fixed(first.overlap, 1), "alpha", "90 % interval"});
    classes.align_right(1);
    for (std::size_t j = 0; j < first.classes.size(); ++j) {
      const AlphaFigure& f = first.classes[j];
      classes.add({printable(crowd.classes[j].name, 60), number(f.alpha), interval(f.low, f.high, number)});
    }
    classes.print(std::cout);
  }
  if (what.per_annotator) {
    std::cout << "\n";
    Table people({"without, IoU above " + fixed(first.overlap, 1), "alpha", "change"});
    people.align_right(1);
    people.align_right(2);
    for (std::size_t k = 0; k < first.without.size(); ++k) {
      people.add({name_of(crowd.annotators[k]), number(first.without[k]), number(first.without[k] - first.all.alpha)});
    }
    people.print(std::cout);
  }
}

Json to_json(const std::optional<Judgement>& judged, const std::vector<DrawnAlpha>& alphas, const CrowdData& crowd,
             const EvalByCrowd& what) {
  Json out = Json::object();
  if (judged) {
    const ExpectedAp& e = judged->expected;
    const Ceilings& c = judged->ceilings;
    out["AP"] = json_of(e.ap);
    out["AP50"] = json_of(e.ap50);
    out["AP75"] = json_of(e.ap75);
    out["AP_deviations"] = {{"draws", e.draws},
                            {"existence", e.existence},
                            {"classes", e.classes},
                            {"boxes", e.boxes},
                            {"correction", e.correction}};
    out["expected_objects"] = judged->objects;
    out["ceilings"] = {{"one_annotator", c.one_annotator}, {"consensus", c.consensus}};
    if (c.best_annotator > 0) {
      out["ceilings"]["best_annotator"] = c.best_annotator;
      out["ceilings"]["best"] = name_of(crowd.annotators[c.best]);
    }
  }
  for (const DrawnAlpha& a : alphas) {
    Json row = {{"iou", a.overlap}, {"places", a.units}, {"all", json_of(a.all)}};
    if (what.per_class) {
      for (std::size_t j = 0; j < a.classes.size(); ++j) {
        Json one = json_of(a.classes[j]);
        one["name"] = crowd.classes[j].name;
        row["classes"].push_back(one);
      }
    }
    if (what.per_annotator) {
      for (std::size_t k = 0; k < a.without.size(); ++k) {
        row["without"].push_back({{"annotator", name_of(crowd.annotators[k])}, {"alpha", json_of(a.without[k])}});
      }
    }
    out["agreement"].push_back(row);
  }
  return out;
}

}  // namespace

int eval_without_truth(const EvalByCrowd& what, const ReadOptions& reading) {
  Progress progress(what.json ? Progress::Style::quiet : Progress::Style::automatic);
  progress.live("reading " + what.labels[0]);
  const CrowdData crowd = read_crowd(what.labels, reading);
  if (crowd.annotators.empty()) {
    throw DataError(what.labels[0] + ": the labels have no annotators, so there is nobody to judge by");
  }
  if (crowd.images.empty() || crowd.classes.empty()) {
    throw DataError(what.labels[0] + ": expected images and classes, found none");
  }
  std::optional<Judgement> judged;
  if (!what.predictions.empty()) {
    const Predictions predictions = read_predictions(what.predictions, crowd);
    ExpectedApSettings settings;
    settings.threads = what.threads;
    settings.progress = [&](int done, int all) {
      progress.live("judging  draw " + std::to_string(done) + "/" + std::to_string(all));
    };
    progress.live("fitting the labels with the detector as a voice");
    judged = judge_detector(crowd, predictions, detections_of(what.predictions, crowd), settings);
  }
  std::vector<DrawnAlpha> alphas;
  for (const double overlap : kOverlaps) {
    progress.live("agreement at IoU " + fixed(overlap, 1));
    alphas.push_back(drawn_alpha(crowd, overlap, 200, 1, what.threads));
  }
  progress.finish();
  print_notes(reading);
  if (judged && seen_alone(crowd)) {
    std::cerr << "note: most images were seen by one annotator only, so the detector is judged by one person's word\n";
  }
  if (judged) {
    for (const std::string& warning : judged->warnings) std::cerr << "note: " << warning << "\n";
  }
  if (what.json) {
    std::cout << to_json(judged, alphas, crowd, what).dump(2) << "\n";
    return 0;
  }
  if (judged) print_judgement(*judged, crowd);
  print_agreement(alphas, crowd, what);
  return 0;
}

}  // namespace bdc::host
