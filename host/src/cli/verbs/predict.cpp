#include <algorithm>
#include <iostream>

#include "bdc/base/table.h"
#include "bdc/base/user_error.h"
#include "cli/config/complete.h"
#include "cli/config/run_file.h"
#include "cli/open_engine.h"
#include "cli/verb.h"
#include "cli/verbs/shared_options.h"

namespace bdc::host {
namespace {

int predict(const std::string& what, const PredictRequest& request, bool quiet, const SearchRequest& search) {
  if (request.coco_file.empty() && request.yolo_folder.empty() && request.picture_folder.empty()) {
    throw UserError(ExitCode::usage, "nothing to write; use --output FILE, --yolo DIR or --pictures DIR");
  }
  Progress progress(quiet ? Progress::Style::quiet : Progress::Style::automatic);
  const Catalog catalog = Catalog::read(search);
  const auto run = open_engine().open_trained(what);
  const RunConfig config = to_run_config(parse_run_config(run->config(), what), catalog);
  const PredictSummary summary = run->predict(config, request, catalog, progress);
  if (quiet) return 0;
  std::cout << summary.objects << " objects in " << summary.images << " images, "
            << fixed(static_cast<double>(summary.images) / std::max(summary.seconds, 1e-9), 1) << " images/s\n";
  if (summary.broken > 0) std::cout << summary.broken << " images cannot be read and are left out\n";
  if (!request.coco_file.empty()) std::cout << "COCO file: " << request.coco_file << "\n";
  if (!request.yolo_folder.empty()) std::cout << "YOLO text: " << request.yolo_folder << "\n";
  if (!request.picture_folder.empty()) std::cout << "pictures: " << request.picture_folder << "\n";
  return 0;
}

}  // namespace

void add_predict(Command& program) {
  Command verb = program.add_verb("predict", "Find objects in images with a trained detector");
  const auto search = add_search_options(verb);
  const auto request = std::make_shared<PredictRequest>();
  const auto quiet = std::make_shared<bool>(false);
  const auto what = std::make_shared<std::string>();
  verb.add_option("run", *what, "run folder, or a weight file of a run").required().type_name("RUN");
  verb.add_option("images", request->images, "files, folders or patterns").required().type_name("PATH");
  verb.add_option("-o,--output", request->coco_file, "write a COCO file with scores here").type_name("FILE");
  verb.add_option("--yolo", request->yolo_folder, "write a text file per image into this folder").type_name("DIR");
  verb.add_option("--pictures", request->picture_folder, "draw the boxes on the images and save them here")
      .type_name("DIR");
  verb.add_option("--min-score", request->min_score, "leave out lower scores (0.25)").range(0.0, 1.0);
  verb.add_flag("--for-consensus", request->for_consensus,
                "one box per object with its full class vector, for aggregate --predictions");
  verb.add_option("--device", request->device, "cpu, cuda or cuda:N; default: CUDA if available").type_name("DEVICE");
  verb.add_flag("--force", request->force, "replace files that `predict` did not write");
  verb.add_flag("-q,--quiet", *quiet, "no progress, no summary");
  verb.footer(
      "Category ids count from 1 in the order of the classes in training; eval matches classes by name.\n"
      "Example:\n"
      "  bdc-host predict runs/yolov7-1 photos/ -o found.json --pictures found/");
  verb.run([=] { return predict(*what, *request, *quiet, *search); });
}

}  // namespace bdc::host
