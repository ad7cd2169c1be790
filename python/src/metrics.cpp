#include <pybind11/stl.h>

#include <sstream>

#include "arrays.h"
#include "bdc/base/error.h"
#include "bdc/crowd/coco.h"
#include "bdc/metrics/aggregation_ap.h"
#include "module.h"

namespace bdc::python {
namespace {

/// A JSON text in memory, or a file.
struct Source {
  std::string text;
  bool is_text = false;
};

CrowdData truth_of(const Source& source, ReadReport& report) {
  if (!source.is_text) return read_truth(source.text, &report);
  std::istringstream in(source.text);
  ReadOptions options;
  options.format = "coco";
  options.role = BoxRole::truth;
  return parse_crowd(in, "truth", options, &report);
}

struct Judged {
  CocoEvalResult result;
  std::vector<std::string> classes;
};

CocoEvalOptions options_of(const std::vector<double>& ious, const std::vector<int>& max_detections, int threads) {
  CocoEvalOptions options;
  options.threads = threads;
  if (!ious.empty()) options.iou_thresholds = ious;
  if (!max_detections.empty()) options.max_detections = max_detections;
  return options;
}

Judged evaluate(const Source& detections, const Source& truth_source, bool common_images,
                const std::vector<double>& ious, const std::vector<int>& max_detections, int threads) {
  ReadReport report;
  const CrowdData truth = truth_of(truth_source, report);
  const auto rank = rank_by_id(truth.images);
  std::vector<CocoDetection> found;
  ResultOptions reading;
  reading.allow_empty_boxes = true;
  reading.skip_unknown_images = common_images;
  const auto use = [&](const CocoResult& r) {
    found.push_back(
        {{r.xywh[0], r.xywh[1], r.xywh[2], r.xywh[3]}, r.score, rank[static_cast<std::size_t>(r.image)], r.label});
  };
  if (detections.is_text) {
    std::istringstream in(detections.text);
    scan_coco_results(in, "detections", truth, reading, use);
  } else {
    scan_coco_results(detections.text, truth, reading, use);
  }
  const CocoEvalOptions options = options_of(ious, max_detections, threads);
  return {coco_evaluate(found, coco_truth(truth, {}, &report.truth_xywh), truth.images.size(), truth.classes.size(),
                        options),
          class_names(truth)};
}

Judged evaluate_consensus(const Targets& targets, const Crowd& crowd, const std::string& truth,
                          const CocoEvalOptions& options) {
  CrowdData data = crowd.data;
  if (!truth.empty()) (void)attach_truth(data, truth);
  if (!data.has_truth) throw DataError("the labels have no truth; hand it over as the second argument");
  const std::vector<char> covered(data.truth_covers.begin(), data.truth_covers.end());
  return {evaluate_targets(targets, data, options, covered), class_names(data)};
}

py::dict to_python(const Judged& judged) {
  py::dict out;
  out["stats"] = py::array_t<double>(12, judged.result.stats.data());
  py::list names, classes;
  for (const char* name : coco_stat_names()) names.append(name);
  for (std::size_t c = 0; c < judged.result.classes.size(); ++c) {
    const CocoClassResult& one = judged.result.classes[c];
    py::dict row;
    row["name"] = judged.classes[c];
    row["AP"] = one.ap;
    row["AP50"] = one.ap50;
    row["AP75"] = one.ap75;
    row["objects"] = one.truth_count;
    classes.append(row);
  }
  out["names"] = names;
  out["classes"] = classes;
  return out;
}

}  // namespace

void add_metrics(py::module_& m) {
  m.def(
      "evaluate",
      [](const std::string& detections, bool detections_are_text, const std::string& truth, bool truth_is_text,
         bool common_images, const std::vector<double>& ious, const std::vector<int>& max_detections, int threads) {
        Judged judged;
        {
          const py::gil_scoped_release unlocked;
          judged = evaluate({detections, detections_are_text}, {truth, truth_is_text}, common_images, ious,
                            max_detections, threads);
        }
        return to_python(judged);
      },
      py::arg("detections"), py::arg("detections_are_text"), py::arg("truth"), py::arg("truth_is_text"),
      py::arg("common_images"), py::arg("ious"), py::arg("max_detections"), py::arg("threads"));
  m.def(
      "evaluate_consensus",
      [](const Targets& targets, const Crowd& crowd, const std::string& truth, const std::vector<double>& ious,
         const std::vector<int>& max_detections, int threads) {
        return to_python(evaluate_consensus(targets, crowd, truth, options_of(ious, max_detections, threads)));
      },
      py::arg("targets"), py::arg("crowd"), py::arg("truth"), py::arg("ious"), py::arg("max_detections"),
      py::arg("threads"));
}

}  // namespace bdc::python
