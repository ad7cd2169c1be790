#include <algorithm>
#include <iostream>

#include "bdc/base/error.h"
#include "bdc/base/table.h"
#include "bdc/base/text.h"
#include "bdc/base/user_error.h"
#include "bdc/crowd/coco.h"
#include "bdc/metrics/aggregation_ap.h"
#include "cli/verb.h"
#include "cli/verbs/eval_without_truth.h"
#include "cli/verbs/label_options.h"
#include "files/json_file.h"

namespace bdc::host {
namespace {

struct Flags {
  std::string predictions, truth;
  std::vector<std::string> labels;
  std::vector<double> ious;
  std::vector<int> max_detections;
  int threads = 0;
  bool per_class = false, per_annotator = false, json = false, common_images = false;
};

std::string cell(double value) {
  return value < 0 ? "-" : fixed(value, 4);
}

CocoEvalResult evaluate_file(const Flags& flags, const CrowdData& truth, const ReadReport& report) {
  const auto rank = rank_by_id(truth.images);
  std::vector<CocoDetection> detections;
  ResultOptions reading;
  reading.allow_empty_boxes = true;
  reading.skip_unknown_images = flags.common_images;
  scan_coco_results(flags.predictions, truth, reading, [&](const CocoResult& r) {
    detections.push_back(
        {{r.xywh[0], r.xywh[1], r.xywh[2], r.xywh[3]}, r.score, rank[static_cast<std::size_t>(r.image)], r.label});
  });
  CocoEvalOptions options;
  options.threads = flags.threads;
  if (!flags.ious.empty()) options.iou_thresholds = flags.ious;
  if (!flags.max_detections.empty()) options.max_detections = flags.max_detections;
  options.extra_ious = {0.4};
  return coco_evaluate(detections, coco_truth(truth, {}, &report.truth_xywh), truth.images.size(), truth.classes.size(),
                       options);
}

/// A row of the summary: its name and what it measures under the flags' limits and thresholds.
struct Measure {
  std::size_t stat;  ///< index into CocoEvalResult::stats
  std::string name, meaning;
};

std::vector<Measure> measures(const Flags& flags) {
  std::vector<int> limits = flags.max_detections.empty() ? CocoEvalOptions().max_detections : flags.max_detections;
  std::sort(limits.begin(), limits.end());
  std::string thresholds;
  for (const double iou : flags.ious) {
    Json number = iou;
    thresholds += (thresholds.empty() ? "" : ", ") + number.dump();
  }
  const char* const meaning[] = {
      "", "at IoU .50", "at IoU .75", "objects below 32 x 32 pixels", "objects between", "objects above 96 x 96 pixels",
      "", "",           "",           "recall, below 32 x 32",        "recall, between", "recall, above 96 x 96"};
  std::vector<Measure> rows;
  for (std::size_t i = 0; i < coco_stat_names().size(); ++i) rows.push_back({i, coco_stat_names()[i], meaning[i]});
  rows[0].meaning = "mean over IoU " + (thresholds.empty() ? std::string(".50:.95") : thresholds);
  // Stats 6 to 8 are the recall under the three lowest limits.
  for (std::size_t m = 0; m < 3 && m < limits.size(); ++m) {
    const std::string limit = std::to_string(limits[m]);
    rows[6 + m].name = "AR" + limit;
    rows[6 + m].meaning =
        "recall with " + limit + (limits[m] == 1 ? " detection" : " detections") + " per image and class";
  }
  if (limits.size() < 3) rows.erase(rows.begin() + 6 + static_cast<std::ptrdiff_t>(limits.size()), rows.begin() + 9);
  return rows;
}

Json to_json(const CocoEvalResult& result, const CrowdData& truth, const Flags& flags) {
  Json out = Json::object();
  const auto number = [](double value) { return value < 0 ? Json(nullptr) : Json(value); };
  for (const Measure& row : measures(flags)) out[row.name] = number(result.stats[row.stat]);
  if (!flags.per_class) return out;
  for (std::size_t c = 0; c < result.classes.size(); ++c) {
    const auto& one = result.classes[c];
    out["classes"].push_back({{"name", truth.classes[c].name},
                              {"AP", number(one.ap)},
                              {"AP50", number(one.ap50)},
                              {"AP75", number(one.ap75)},
                              {"AP40", number(one.ap_per_extra_iou[0])},
                              {"objects", one.truth_count}});
  }
  return out;
}

void print(const CocoEvalResult& result, const CrowdData& truth, const Flags& flags) {
  Table table({"measure", "value", ""});
  table.align_right(1);
  for (const Measure& row : measures(flags)) table.add({row.name, cell(result.stats[row.stat]), row.meaning});
  table.print(std::cout);
  if (!flags.per_class) return;
  Table classes({"class", "objects", "AP", "AP50", "AP75", "AP40"});
  for (std::size_t c = 1; c < 6; ++c) classes.align_right(c);
  for (std::size_t c = 0; c < result.classes.size(); ++c) {
    const auto& one = result.classes[c];
    classes.add({truth.classes[c].name, std::to_string(one.truth_count), cell(one.ap), cell(one.ap50), cell(one.ap75),
                 cell(one.ap_per_extra_iou[0])});
  }
  std::cout << "\n";
  classes.print(std::cout);
}

int eval(const Flags& flags, const ReadOptions& reading) {
  if (flags.labels.empty() && (flags.predictions.empty() || flags.truth.empty())) {
    throw UserError(ExitCode::usage,
                    "eval: expected predictions and the truth, or predictions and --crowd LABELS; see --help");
  }
  if (!flags.labels.empty()) {
    if (!flags.truth.empty()) {
      throw UserError(ExitCode::usage, "--crowd judges without truth; leave out " + printable(flags.truth, 200));
    }
    if (!flags.ious.empty() || !flags.max_detections.empty() || flags.common_images) {
      throw UserError(ExitCode::usage, "--iou, --max-dets and --common-images go with the truth, not with --crowd");
    }
    return eval_without_truth(
        {flags.labels, flags.predictions, flags.threads, flags.per_class, flags.per_annotator, flags.json}, reading);
  }
  if (flags.per_annotator) throw UserError(ExitCode::usage, "--per-annotator goes with --crowd");
  if (flags.max_detections.size() > 3) {
    throw UserError(ExitCode::usage,
                    "--max-dets: expected at most three limits, found " + std::to_string(flags.max_detections.size()));
  }
  ReadReport report;
  const CrowdData truth = read_truth(flags.truth, &report);
  CocoEvalResult result;
  try {
    result = evaluate_file(flags, truth, report);
  } catch (const std::invalid_argument& e) {
    throw UserError(ExitCode::usage, e.what());
  } catch (const DataError& e) {
    const std::string what = e.what();
    if (what.find("image_id") == std::string::npos) throw;
    throw DataError(what + "\n  advice: --common-images evaluates only the images that the truth lists");
  }
  if (flags.json) {
    std::cout << to_json(result, truth, flags).dump(2) << "\n";
  } else {
    print(result, truth, flags);
  }
  return 0;
}

}  // namespace

void add_eval(Command& program) {
  Command verb = program.add_verb("eval", "Evaluate detections or a consensus against the truth, or without one");
  const auto flags = std::make_shared<Flags>();
  verb.add_option("predictions", flags->predictions, "COCO results, or what `aggregate` wrote").type_name("FILE");
  verb.add_option("truth", flags->truth, "COCO JSON with the true boxes").type_name("FILE");
  verb.add_option("--crowd", flags->labels, "annotators' labels, to judge by without truth; may be repeated")
      .type_name("PATH")
      .repeated();
  verb.add_flag("--per-class", flags->per_class, "also print a row for every class");
  verb.add_flag("--per-annotator", flags->per_annotator, "--crowd: also the agreement without each annotator");
  verb.add_option("--iou", flags->ious, "IoU thresholds to average over")
      .type_name("X")
      .check([](const std::string& text) {
        const auto x = parse_real(text);
        return x && *x > 0 && *x <= 1 ? std::string()
                                      : "expected a number above 0, at most 1, found '" + printable(text) + "'";
      });
  verb.add_option("--max-dets", flags->max_detections, "up to three limits of detections per image and class")
      .type_name("N")
      .range(1, 100000);
  verb.add_option("--threads", flags->threads, "0: all cores").range(0, 1024);
  verb.add_flag("--common-images", flags->common_images, "leave out results on images that the truth does not list");
  verb.add_flag("--json", flags->json, "as JSON");
  const auto reading = add_label_options(verb);
  verb.footer(
      "Examples:\n"
      "  bdc-host eval consensus.json truth.json --per-class\n"
      "  bdc-host eval detections.json --crowd crowd.json\n"
      "  bdc-host eval --crowd crowd.json --per-annotator     the annotators' agreement alone");
  verb.run([=] { return eval(*flags, *reading); });
}

}  // namespace bdc::host
